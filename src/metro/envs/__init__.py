"""Simulators of the benchmarks behind the protocol `metro.types.Env`."""

from metro.envs.opening import check_drawing, open_env

__all__ = ["check_drawing", "open_env"]
