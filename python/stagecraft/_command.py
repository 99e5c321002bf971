"""Command lines, made of Python's values."""

import json
import os
from functools import partial

from ._helper import call
from ._values import plain
from .types import Request

_REPEATED = ("model", "set", "speed")  # options that are given once for each value; others have lists with commas
_DOCUMENTS = ("model", "platform", "events", "schedule_file")  # options that name a file


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
            return os.fspath(value)
        while f"<{name}>" in self.files:
            name += "'"
        self.files[f"<{name}>"] = json.dumps(plain(value), indent=1)
        return f"<{name}>"

    def planner(self, value):
        """The word for a planner: its name, or that of a function."""
        if isinstance(value, str):
            return value
        name = "".join(c if c.isalnum() or c in "-_" else "-" for c in getattr(value, "__name__", "planner"))
        while name in self.planners:
            name += "-2"
        self.planners[name] = partial(_ask, value)
        return "call:" + name

    def add(self, options):
        """Adds options, with `_` in place of the `-` of the command line; None and False leave one out."""
        for name, value in options.items():
            if value is None or value is False:
                continue
            option = "--" + name.replace("_", "-")
            if value is True:
                self.words.append(option)
                continue
            several = isinstance(value, (list, tuple)) or (isinstance(value, dict) and name in ("set", "speed"))
            words = [self.word(name, each) for each in (items(value) if several else [value])]
            if not (several and name in _REPEATED):
                words = [",".join(words)]
            self.words += [f"{option}={word}" for word in words]
        return self

    def word(self, name, value):
        if name in ("planner", "planners"):
            return self.planner(value)
        if name in _DOCUMENTS:
            return self.file(value, name)
        if isinstance(value, dict):  # such as a schedule and its parameters
            value = dict(value)
            first = [value.pop("name")] if "name" in value else []
            return ",".join(first + [f"{key}={_text(each)}" for key, each in value.items()])
        return _text(value)

    def with_words(self, *words):
        """This command with more words."""
        more = Command(*self.words, *words)
        more.files, more.planners = self.files, self.planners
        return more

    def run(self):
        return call(self.words, self.files, self.planners)


def items(value):
    return [f"{key}={_text(each)}" for key, each in value.items()] if isinstance(value, dict) else value


def _text(value):
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, os.PathLike):
        return os.fspath(value)
    return repr(float(value)) if isinstance(value, float) else str(value)


def _ask(planner, request):
    """The answer of a planner, a function of a request: a plan, or that there is none."""
    plan = planner(Request.from_json(request))
    return json.dumps(plan.document if isinstance(plan, Infeasible) else plain(plan))
