"""The command line: one thin function a verb; results on stdout, progress on stderr."""

from metro.cli import evaluate as evaluation
from metro.cli import (
    graphs,
    macro,
    measuring,
    reporting,
    rerunning,
    residual,
    studies,
    study_runs,
    worlds,
)
from metro.cli.app import app, main

__all__ = [
    "app",
    "evaluation",
    "graphs",
    "macro",
    "main",
    "measuring",
    "reporting",
    "rerunning",
    "residual",
    "studies",
    "study_runs",
    "worlds",
]
