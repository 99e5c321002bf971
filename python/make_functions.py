"""Writes stagecraft/_functions.py: the functions of the package with all options of their commands in their signatures.

    python3 python/make_functions.py PROGRAM          # writes it, as `PROGRAM help COMMAND --json` tells the options
    python3 python/make_functions.py PROGRAM --check  # says with exit code 1 that it would differ
"""

import inspect
import json
import subprocess
import sys
import textwrap
from importlib.machinery import ModuleSpec
from importlib.util import module_from_spec
from pathlib import Path

PACKAGE = Path(__file__).resolve().parent / "stagecraft"
TARGET = PACKAGE / "_functions.py"
PARTS = ModuleSpec("stagecraft", None, is_package=True)  # without the functions, which may be of another program
PARTS.submodule_search_locations.append(str(PACKAGE))
sys.modules["stagecraft"] = module_from_spec(PARTS)
sys.dont_write_bytecode = True
from stagecraft import _calls, _command  # noqa: E402

FUNCTIONS = ("plan", "simulate", "evaluate", "bounds", "compare", "max_batch", "check", "study")
COMMANDS = {"evaluate": "simulate", "bounds": "simulate", "max_batch": "max-batch", "study": "run"}
GIVEN = {"evaluate": ("engine",)}  # options that a function gives itself
HEAD = '''"""The functions of the package, made by make_functions.py from bodies in _calls.py and options of the program."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import Optional, Union

from . import _calls, results
from ._calls import Bounds, Document, Items, Planner, Planners, Setting, with_signature
from .types import Comparison, LargestSize, Planning, Simulation, SizeComparison
'''


def attribute(option):
    return option["name"].lstrip("-").replace("-", "_")


def hint(option):
    """The annotation and the default of an option."""
    name = attribute(option)
    if not option["takes_value"]:
        return "bool = False"
    if name in _command.TRUTHS:
        return "Optional[bool] = None"
    kind = ("Document" if name in _command.DOCUMENTS else "Items" if option["repeated"] else
            "Planners" if name == "planners" else "Setting")
    return f"Optional[{kind}] = None"


def checked(option):
    """An option of the program. What `Command` knows of options is as the program has it."""
    name = attribute(option)
    is_truth = option["values"] == ["true", "false"]
    if is_truth != (name in _command.TRUTHS) or (option["repeated"] and name not in _command.REPEATED):
        sys.exit(f"{name}: TRUTHS or REPEATED in stagecraft/_command.py differs from the program")
    return option


def written(name, program):
    body = getattr(_calls, name)
    command = COMMANDS.get(name, name)
    told = json.loads(subprocess.run([program, "help", command, "--json"], check=True, capture_output=True).stdout)
    *first, _ = inspect.signature(body).parameters.values()  # without its **options
    left_out = {each.name for each in first} | {*GIVEN.get(name, ()), *_command.NO_OPTIONS}
    options = [checked(each) for each in told["options"] if attribute(each) not in left_out]
    parameters = [str(each).replace("'", "") for each in first] + ["*"] + [
        f"{attribute(each)}: {hint(each)}" for each in options]
    words = ", ".join(each.replace(" ", "~") for each in parameters) + f")~->~{body.__annotations__['return']}:"
    lines = textwrap.wrap(f"def~{name}({words}", 120, subsequent_indent=" " * len(f"def {name}("),
                          break_on_hyphens=False)
    about = textwrap.indent('"""' + inspect.getdoc(body), "    ")
    meanings = [textwrap.fill(f"{attribute(each)}: {each['description']}", 116, initial_indent=" " * 8,
                              subsequent_indent=" " * 12, break_on_hyphens=False) for each in options]
    return "\n".join([f"@with_signature(_calls.{name})", *(line.replace("~", " ") for line in lines), about, "",
                      f"    The options, in the words of `stagecraft {command} --help`:", "", *meanings, '    """'])


def text(program):
    names = ", ".join(f'"{name}"' for name in FUNCTIONS)
    return "\n\n".join([HEAD + f"\n__all__ = [{names}]\n", *(written(name, program) + "\n" for name in FUNCTIONS)])


if __name__ == "__main__":
    made = text(sys.argv[1])
    if sys.argv[2:] == ["--check"]:
        sys.exit(0 if TARGET.is_file() and TARGET.read_text() == made else f"{TARGET} differs from the program")
    TARGET.write_text(made)
