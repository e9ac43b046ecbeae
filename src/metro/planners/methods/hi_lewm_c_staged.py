"""Hi-LeWM-C, staged: one macro search at the start, its latents one after another."""

from metro.planners.hierarchical.macro_variants import MacroVariant, hierarchical_method

STAGED = MacroVariant("hi-lewm-c-staged", has_bank=True, is_staged=True)
HI_LEWM_C_STAGED = hierarchical_method(STAGED, label="Hi-LeWM-C (staged)", order=80)
