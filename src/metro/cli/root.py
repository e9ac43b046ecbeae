"""The command line itself: how verbs are run, and how errors leave it."""

import json
import sys
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from metro.errors import MetroError, one_line

# Headings of ``metro --help``; verbs name theirs, so that the list reads by task.
START = "Start here"
DATA = "Data"
MODELS = "World models"
GRAPHS = "Graphs and routes"
EVALUATION = "Evaluation"
PAPER = "The paper"


class Interrupted(Exception):
    """Ctrl-C, on its way past typer, which would end the process without a word."""


class Verbs(TyperGroup):
    """The verbs of metro; Ctrl-C leaves them as `Interrupted`."""

    def list_commands(self, ctx: Any) -> list[str]:
        """Return the verbs by their heading: what a newcomer needs comes first."""
        verbs: Any = self.commands
        order = [START, DATA, MODELS, GRAPHS, EVALUATION, PAPER]
        return sorted(verbs, key=lambda name: order.index(verbs[name].rich_help_panel))

    def invoke(self, ctx: Any) -> Any:
        """Run the verb that was asked for."""
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt as error:
            raise Interrupted from error


app = typer.Typer(
    name="metro",
    cls=Verbs,
    help="Long-horizon planning with retrieved sub-goals, for frozen world models.",
    no_args_is_help=True,
    add_completion=False,
    # Our errors are one line; a bug shows Python's own traceback, unadorned.
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def main() -> None:
    """Run the command line; an error of ours is one line on stderr and exit code 1."""
    try:
        app()
    except MetroError as error:
        sys.exit(_complain(str(error), 1))
    except (Interrupted, KeyboardInterrupt):
        # 130 is what shells expect after Ctrl-C.
        sys.exit(_complain("Interrupted. The same command resumes from here.", 130))
    except MemoryError:
        sys.exit(_complain("Out of memory. Use a machine with more, or less data.", 1))
    except OSError as error:  # a disk or a terminal that failed under us
        sys.exit(_complain(one_line(error), 1))


@app.callback(invoke_without_command=True)
def root(
    context: typer.Context,
    version: Annotated[
        bool, typer.Option("--version", help="Print the version and exit.")
    ] = False,
) -> None:
    """Long-horizon planning with retrieved sub-goals, for frozen world models."""
    if version:
        from metro import __version__

        typer.echo(f"metro-wm {__version__}")
        raise typer.Exit
    if context.invoked_subcommand is None:
        # As for any wrong usage: scripts must not take it for a success.
        raise typer.Exit(2)


def require_worlds(verb: str) -> None:
    """Raise `MissingExtra` unless the libraries of worlds and models are there."""
    from importlib.util import find_spec

    from metro.errors import MissingExtra

    # find_spec looks without importing: the answer comes at once.
    needed = ("torch", "stable_worldmodel", "mujoco", "h5py", "safetensors")
    missing = [name for name in needed if find_spec(name) is None]
    if missing:
        raise MissingExtra(
            f'metro {verb} needs the "swm" extra, {", ".join(missing)} is not there: '
            f'pip install "metro-wm[swm]"'
        )


def print_json(value: Any) -> None:
    """Print a value as JSON, on stdout."""
    # NaN is not JSON, and other languages refuse it: better to fail here.
    typer.echo(json.dumps(value, indent=2, allow_nan=False))


def _complain(message: str, code: int) -> int:
    typer.echo(f"metro: {message}", err=True)
    return code
