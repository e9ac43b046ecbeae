"""The command line, one thin function per verb; results go to stdout alone."""

# Imported for their effect: each module adds its verbs to the app.
from metro.cli import (
    data,
    evaluate,
    graphs,
    machine,
    models,
    reports,
    rerunning,
    residual,
    studies,
    study_runs,
)
from metro.cli.root import app, main

__all__ = [
    "app",
    "data",
    "evaluate",
    "graphs",
    "machine",
    "main",
    "models",
    "reports",
    "rerunning",
    "residual",
    "studies",
    "study_runs",
]
