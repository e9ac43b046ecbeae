"""The command line, one thin function per verb; results go to stdout alone."""

from importlib import import_module

from metro.cli.root import app, main

__all__ = ["app", "main"]

# Imported for their effect: each module adds its verbs to the app, in this order.
_MODULES = "data evaluate graphs machine models reports studies study_runs"
for _module in _MODULES.split():
    import_module(f"metro.cli.{_module}")
