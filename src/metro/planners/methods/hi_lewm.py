"""Hi-LeWM: a macro search over latent macro actions, without bounds."""

from metro.planners.hierarchical.macro_variants import MacroVariant, hierarchical_method

FREE = MacroVariant("hi-lewm", has_bank=False)
HI_LEWM = hierarchical_method(FREE, label="Hi-LeWM", order=60)
