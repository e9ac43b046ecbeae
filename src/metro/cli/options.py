"""Options and arguments that several verbs share, each written once.

A parameter of a verb is named like the Python parameter it becomes; its alias has the
type and the help. An option of one verb alone stays beside that verb.
"""

import os
from pathlib import Path
from typing import Annotated, Any

import typer

from metro.errors import ModelError
from metro.planners.methods.registry import find_method, method_names


def option(
    help_text: str, *names: str, least: int | None = None, check: Any = None
) -> Any:
    """Return an option with its help, its flags, its least value, and its check."""
    return typer.Option(*names, help=help_text, min=least, callback=check)


def existing_corpus(path: str | None) -> str | None:
    """Return the path of a corpus; a wrong one is said before torch is imported."""
    if path is not None:
        from metro.data.formats.sources import locate

        locate(path)
    return path


def existing_model(source: str | None) -> str | None:
    """Return the name of a model; a file that is not there is said at once."""
    # Other names may be repositories or shipped models, which loading looks for.
    is_file = Path(source or "").suffix in (".safetensors", ".pt", ".ckpt")
    if source and is_file and not Path(os.path.expanduser(source)).exists():
        raise ModelError(f"There is no model {source!r}. Give the path of a file.")
    return source


def corpus_option(help_text: str) -> Any:
    """Return an option that names recorded episodes."""
    return option(help_text, check=existing_corpus)


def model_option(help_text: str) -> Any:
    """Return an option that names a world model or a macro model."""
    return option(help_text, check=existing_model)


BenchmarkName = Annotated[
    str,
    typer.Argument(metavar="BENCHMARK", help="Name of a benchmark, such as tworoom."),
]
CorpusPath = Annotated[
    str,
    typer.Argument(
        metavar="CORPUS",
        callback=existing_corpus,
        help="Recorded episodes: a file, a folder, or a dataset name that "
        "stable-worldmodel knows.",
    ),
]
GraphPath = Annotated[
    Path, typer.Argument(metavar="GRAPH", help="Graph made by metro build.")
]

# What verbs read: recordings, models, graphs.
CorpusOption = Annotated[
    str, corpus_option("Recorded episodes that the queries come from.")
]
Model = Annotated[
    str,
    model_option(
        "World model: the name of a shipped one, a file, a folder, a repository, or "
        "package.module:factory."
    ),
]
Graph = Annotated[
    Path | None,
    option(
        "Graph made by metro build; serves every H. Needed by "
        f"{', '.join(method_names(needs_graph=True))}."
    ),
]
RequiredGraph = Annotated[Path, option("Graph made by metro build; serves every H.")]
Macro = Annotated[
    str | None,
    model_option(
        "Macro model made by metro train-macro. Needed by the hi-lewm methods."
    ),
]
MacroSteps = Annotated[
    int | None,
    option(
        "h_h, macro steps of the hi-lewm methods. Default: 1, and 2 for the staged one."
    ),
]
MethodName = Annotated[
    str, option(f"How queries are planned: {', '.join(method_names())}.")
]
MethodOption = Annotated[
    str | None,
    option(
        "Variant of a method: "
        + "; ".join(
            f"{', '.join(find_method(name).options)} of {name}"
            for name in method_names()
            if find_method(name).options
        )
        + "."
    ),
]
# The letters of the paper: d, h, H, T.
Distance = Annotated[int, option("d, frames from start to goal.")]
PlanBlocks = Annotated[
    int | None,
    option("h, action blocks per micro plan. Default: 1, and 2 for hi-lewm."),
]
WaypointBudget = Annotated[
    int | None, option("H, frames per sub-goal. Default: the graph's own.")
]
StepBudget = Annotated[
    int | None, option("T, environment steps per query. Default: 2 d.")
]
PlannerSeeds = Annotated[
    list[int] | None,
    option("Random seed of the micro planner; repeat it for several.", least=0),
]
Queries = Annotated[
    Path | None,
    option(
        "Query file made by metro queries. Default: the benchmark's own.", "--queries"
    ),
]
First = Annotated[int | None, option("Plan only this many queries of the file.")]
# How the work is divided; none of these changes a result.
BatchSize = Annotated[int, option("Number of queries planned together.")]
Workers = Annotated[
    int, option("Number of worker processes; the results are the same.")
]
AllWorkers = Annotated[
    int | None, option("Number of worker processes. Default: one per core.")
]
Threads = Annotated[int, option("Number of torch threads.", least=1)]
Camera = Annotated[
    str | None,
    option("Which pictures, of recordings of several cameras. Default: the only one."),
]
Device = Annotated[
    str | None,
    option("Device of the model: cpu, cuda or mps. Default: the fastest available."),
]
TrustPickle = Annotated[
    bool, option("Load a pickled model, which can run any code.", "--trust-pickle")
]
Seed = Annotated[int, option("Random seed for all sampling.", least=0)]
PresetSeed = Annotated[
    int | None, option("Random seed for all sampling. Default: the preset's.", least=0)
]

# What verbs write, and how they print.
RowsPath = Annotated[
    Path, option("File of result rows (.jsonl) to append to.", "--output", "-o")
]
ModelPath = Annotated[
    Path, option("Model file (.safetensors) to write.", "--output", "-o")
]
Force = Annotated[bool, option("Replace OUTPUT if it exists.", "--force")]
AsJson = Annotated[bool, option("Print JSON instead of a table.", "--json")]
Verify = Annotated[
    bool, option("Check the digests of all files before reading them.", "--verify")
]
