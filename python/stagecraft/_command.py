"""Command lines, made of Python's values."""

import copy
import os
import sys
import warnings
from collections.abc import Iterable
from functools import partial

from ._errors import Error
from ._helper import call
from ._values import Value, json_text, plain
from .types import Plan, Planning, Request

REPEATED = ("model", "set", "speed", "filter", "sbatch")  # options that are given once for each value; others have lists with commas
TRUTHS = ("sequence_parallel",)  # options with the value true or false; others that are true have none
_WRITING = ("--trace", "--picture", "--report", "--output", "--apply")
DOCUMENTS = ("model", "platform", "events", "schedule_file")  # options that name a file
NO_OPTIONS = ("help", "json", "version")  # of the command line alone


class Infeasible:
    """What a planner of your own returns where it finds no plan."""

    def __init__(self, reason, **more):
        self.document = {"infeasible": {"reason": reason, **more}}


class Command:
    """A command line in the making, with the values that stand for files in it."""

    def __init__(self, *words):
        self.words = list(words)
        self.files = {}
        self.planners = {}

    def file(self, value, name):
        """The word for a file: a path or a name as it is, else the name of a document that comes with the command."""
        if isinstance(value, (str, os.PathLike)):
            path = os.fspath(value)
            return "./" + path if path.startswith("-") else path  # no option
        text = json_text(value, indent=1)
        while self.files.get(f"<{name}>", text) != text:
            name += "'"
        self.files[f"<{name}>"] = text
        return f"<{name}>"

    def study(self, value, key=None):
        """A study with names of files in place of the models, platforms and events in it that are values."""
        if isinstance(value, (list, tuple)):
            return [self.study(each, key) for each in value]
        if key in DOCUMENTS and isinstance(value, (dict, Value, os.PathLike)):
            own = plain(value).get(key) if isinstance(value, (dict, Value)) else None
            return self.file(value, own if isinstance(own, str) else key)
        if isinstance(value, dict):
            return {each: self.study(inner, each) for each, inner in value.items()}
        return value

    def planner(self, value):
        """The word for a planner: its name, or that of a function."""
        if isinstance(value, str):
            return value
        if not callable(value):
            raise Error(f"expected a planner, a name or a function, found {value!r}")
        name = "".join(c if c.isalnum() or c in "-_" else "-" for c in getattr(value, "__name__", "planner"))
        while name in self.planners:
            name += "-2"
        self.planners[name] = partial(_ask, value)
        return "call:" + name

    def add(self, options):
        """Adds options, with `_` in place of the `-` of the command line; None and False leave one out."""
        for name, value in options.items():
            if name in NO_OPTIONS:
                raise Error(f"the option {name!r} is for the command line")
            is_flag = isinstance(value, bool) and name not in TRUTHS
            if value is None or (is_flag and not value):
                continue
            option = "--" + name.replace("_", "-")
            if is_flag:
                self.words.append(option)
                continue
            if isinstance(value, dict) and name in REPEATED and name not in DOCUMENTS:
                value = items(value)
            several = isinstance(value, Iterable) and not isinstance(value, (str, dict, bytes, os.PathLike))
            words = [self.word(name, each) for each in (value if several else [value])]
            if not (several and name in REPEATED):
                words = [",".join(words)]
            self.words += [f"{option}={word}" for word in words]
        return self

    def word(self, name, value):
        if name in ("planner", "planners"):
            return self.planner(value)
        if name in DOCUMENTS:
            return self.file(value, name)
        if isinstance(value, dict):  # such as a schedule and its parameters
            value = dict(value)
            first = [value.pop("name")] if "name" in value else []
            return ",".join(first + [f"{key}={_text(each)}" for key, each in value.items()])
        return _text(value)

    def for_drawing(self, word):
        """This command with another word, in place of those that write files."""
        drawing = Command(*(each for each in self.words if each.partition("=")[0] not in _WRITING), word)
        drawing.files, drawing.planners = self.files, self.planners
        return drawing

    def run(self):
        """Its answer, a dict. Warnings are those of Python, too."""
        answer = call(self.words, self.files, self.planners)
        for remark in answer["remarks"]:
            tell(remark)
        return answer


def tell(remark):
    """Shows a warning of the program as one of Python, at the line of the user's that calls this package."""
    if not remark.startswith("warning: "):
        return
    depth, frame = 1, sys._getframe()
    while frame is not None and frame.f_globals.get("__package__") == __package__:
        depth, frame = depth + 1, frame.f_back
    warnings.warn(remark.removeprefix("warning: "), stacklevel=depth)


def items(value):
    """The `K=V` of a dict, or of a text or a list of such."""
    if isinstance(value, dict):
        return [f"{key}={_text(each)}" for key, each in value.items()]
    return [value] if isinstance(value, str) else list(value)


def _text(value):
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (str, os.PathLike)):
        return os.fspath(value)
    return json_text(value)


def plan_in(value):
    """The plan that an answer has, such as a `Planning`; another value as it is. **Raises** Error for one without."""
    if isinstance(getattr(value, "plan", None), Plan):
        return value.plan
    if isinstance(value, Planning):
        raise Error("there is no plan: " + value.reason)
    return value


def inputs_of(options):
    """What of the options says for which model and platform a command is, apart from what its caller may change."""
    inputs = {name: options[name] for name in ("model", "platform", "speed") if options.get(name) is not None}
    given = options.get("set") or []
    values = [each for each in items(given) if each.startswith(("model.", "platform."))]
    return copy.deepcopy({**inputs, **({"set": values} if values else {})})


def _ask(planner, request):
    """The answer of a planner, a function of a request: a plan, or that there is none."""
    answer = planner(Request.from_json(request))
    if isinstance(answer, Planning) and answer.plan is None:
        answer = Infeasible(answer.reason)
    if answer is None:
        raise Error("the planner returned None", hint="it returns a Plan, or Infeasible with the reason")
    return json_text(answer.document if isinstance(answer, Infeasible) else plan_in(answer))
