"""Hi-LeWM-C: a macro search around recorded macro actions, from a bank."""

from metro.planners.hierarchical.macro_variants import MacroVariant, hierarchical_method

BANKED = MacroVariant("hi-lewm-c", has_bank=True)
HI_LEWM_C = hierarchical_method(BANKED, label="Hi-LeWM-C", order=70)
