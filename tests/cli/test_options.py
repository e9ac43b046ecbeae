"""Options that verbs share: each says what it is in a sentence."""

import re
import subprocess
import sys
from typing import get_args

import pytest

from metro.cli import options
from metro.planners.methods.registry import method_names

ALIASES = {
    name: get_args(alias)
    for name, alias in vars(options).items()
    if hasattr(alias, "__metadata__")
}


@pytest.mark.parametrize("name", ALIASES)
def test_every_option_has_a_help_sentence(name):
    """Help starts with a capital, or with the paper's letter, and ends with a stop."""
    _, given = ALIASES[name]
    assert re.fullmatch(r"([A-Z]|[a-zH_]{1,3}, )[^\n]*[^.]\.", given.help)


def test_no_two_options_have_the_same_help():
    """What differs is explained differently."""
    told = [given.help for _, given in ALIASES.values()]
    assert len(ALIASES) >= 30
    assert sorted({one for one in told if told.count(one) > 1}) == []


def test_an_optional_option_says_its_default_or_use():
    """Where nothing may be given, help says what happens then, or who needs it."""
    silent = [
        name
        for name, (kind, given) in ALIASES.items()
        if type(None) in get_args(kind)
        and not re.search("Default: |Needed by|only|Variant|repeat", given.help)
    ]
    assert silent == []


def test_the_help_of_methods_lists_them_all():
    """A new method appears in the help by itself."""
    listed = options.MethodName.__metadata__[0].help
    assert listed == f"How queries are planned: {', '.join(method_names())}."


@pytest.mark.parametrize(
    ("name", "flags"),
    [
        ("RowsPath", ("--output", "-o")),
        ("ModelPath", ("--output", "-o")),
        ("Force", ("--force",)),
        ("AsJson", ("--json",)),
        ("TrustPickle", ("--trust-pickle",)),
    ],
)
def test_flags_are_those_that_scripts_use(name, flags):
    """Names of flags stay: scripts have them."""
    _, given = ALIASES[name]
    # In an annotation typer keeps the first flag where a default would be.
    assert (given.default, *given.param_decls) == flags


def test_wrong_paths_are_said_before_torch_is_imported(tmp_path):
    """Importing it takes seconds; looking for a file takes none."""
    program = f"""
import sys
from metro.cli.options import existing_corpus, existing_model
for check in (existing_corpus, existing_model):
    try:
        check({str(tmp_path / "gone.pt")!r})
    except Exception as error:
        print(type(error).__name__)
print("torch" in sys.modules)
"""
    ran = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert ran.stdout.split() == ["CorpusError", "ModelError", "False"]
