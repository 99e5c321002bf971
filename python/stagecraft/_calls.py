"""The bodies of the functions of the package: commands of the program with Python's values."""

from __future__ import annotations

import functools
import os
import tempfile
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import NamedTuple, Optional, TypeVar, Union

from . import results
from ._command import Command, inputs_of, plan_in
from ._errors import Error
from ._values import Answer, Run, Value
from .types import Comparison, LargestSize, LeastPossible, Planning, Simulation, SizeComparison

Document = Union[str, os.PathLike, Mapping, Value]  # a name or a path, or what stands in the file
Planner = Union[str, Callable]
Planners = Union[str, Iterable[Planner]]
Setting = Union[str, float, os.PathLike, Mapping, Iterable]  # a list has commas on the command line, a dict K=V
Items = Union[str, Mapping, Iterable[str]]  # K=V each, or values of an option that may be repeated
_Function = TypeVar("_Function", bound=Callable)


def with_signature(body: Callable) -> Callable[[_Function], _Function]:
    """Makes a function that shows the options of a command call a body that takes any. So the program refuses those that
    it does not have, in its own words."""
    def replaced(shown):
        @functools.wraps(shown)
        def function(*arguments, **options):
            return body(*arguments, **options)
        return function
    return replaced


def _answer(kind, command, options):
    """Runs a command. The value of its answer remembers how it was told, and what it is about."""
    answer = command.run()
    value = kind.from_json(answer["answer"])
    value.told(text=answer["text"], remarks=tuple(answer["remarks"]), inputs=inputs_of(options))
    return value.told(command=command) if isinstance(value, Run) else value


def plan(model: Document, platform: Document, planner: Planner, **options) -> Planning:
    """Makes a plan with one planner: a name, `exec:PATH`, or a function from a `Request` to a `Plan`.

    Options are those of `stagecraft plan`, with `_` for `-`: `plan(..., schedule="1f1b", global_batch=64)`. A model or
    a platform is a name, a path, a value of `stagecraft.types`, or a JSON document. Returns a `Planning`."""
    given = {"model": model, "platform": platform, **options}
    return _answer(Planning, Command("plan").add({**given, "planner": planner}), given)


def _of_plan(verb, plan, options):
    """The command for a plan, and the inputs: those that the plan was made for, where no others are given."""
    if isinstance(plan, Answer):
        options = {**plan.inputs, **options}
    command = Command(verb)
    command.words.append(command.file(plan_in(plan), "plan"))
    return command.add(options), options


def simulate(plan: Document, **options) -> Simulation:
    """Replays a plan: a `Planning`, a `Plan`, a path or a JSON document. Options are those of `stagecraft simulate`.
    Returns a `Simulation`."""
    command, options = _of_plan("simulate", plan, options)
    return _answer(Simulation, command, options)


def evaluate(plan: Document, **options) -> Simulation:
    """The same without contention: every transfer has the whole bandwidth of its links."""
    return simulate(plan, engine="evaluate", **options)


class Bounds(NamedTuple):
    """How good a plan can be."""

    bound_s: Optional[float]  # no order of the plan's work takes less: the iteration time, or the period
    over_bound: Optional[float]  # the plan's time over that
    bound_by: Optional[str]  # what decides it
    least_possible: Optional[LeastPossible]  # no plan of the class takes less


def bounds(plan: Document, **options) -> Bounds:
    """The lower bounds below the time that `simulate` gives, with its options. Returns `Bounds`."""
    run = simulate(plan, **options)
    return Bounds(run.bound_s, run.over_bound, run.bound_by, run.least_possible)


def compare(model: Union[Document, Iterable[Document]], platform: Document, planners: Optional[Planners] = None,
            **options) -> Comparison:
    """Plans with several planners and replays the plans. Options are those of `stagecraft compare`; `planners` may have
    functions, as in `plan`, and `model` may be a list. Returns a `Comparison`."""
    given = {"model": model, "platform": platform, **options}
    return _answer(Comparison, Command("compare").add({**given, "planners": planners}), given)


def max_batch(model: Document, platform: Document, planner: Optional[Planner] = None,
              **options) -> Union[LargestSize, SizeComparison]:
    """The largest microbatch that fits. Options are those of `stagecraft max-batch`. Returns a `LargestSize`, or
    without a planner, and with `curve`, a `SizeComparison`."""
    given = {"model": model, "platform": platform, **options}
    kind = SizeComparison if planner is None or options.get("curve") else LargestSize
    return _answer(kind, Command("max-batch").add({**given, "planner": planner}), given)


def check(plan: Document, **options) -> dict:
    """What is wrong with a plan: the `outcome` of `stagecraft check`, and its `violations`, in a dict."""
    command, _ = _of_plan("check", plan, options)
    return command.run()["answer"]


def study(study: Document, out: Union[str, os.PathLike, None] = None, **options) -> results.Study:
    """Runs a study: the name of a shipped one, a path, or a JSON document, whose models, platforms and events may be
    values, too; the results call those `<NAME>`. Options are those of `stagecraft run`. Results are kept in the folder
    `out`, where `resume=True` goes on with a study that was begun; without `out` they are read and removed. Returns a
    `stagecraft.results.Study`."""
    if out is None:
        with tempfile.TemporaryDirectory() as folder:
            return _run_study(study, Path(folder) / "out", options)
    return _run_study(study, out, options)


def _run_study(study, out, options):
    command = Command("run")
    command.words.append(command.file(command.study(study), "study"))
    command.add({"out": out, **options}).run()
    try:
        return results.read(out)
    except FileNotFoundError:
        raise Error("the study has no results") from None
