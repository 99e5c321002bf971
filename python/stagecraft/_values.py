"""What the classes of `stagecraft.types` have in common: how they become JSON documents, and come from them."""

import html
import json
import math
import operator
import re
import tempfile
from dataclasses import fields
from fractions import Fraction
from functools import lru_cache
from pathlib import Path

from ._errors import Error

_NUMBER = re.compile(r"((?:0|[1-9][0-9]*)(?:\.[0-9]+)?)(?:[eE]([+-]?[0-9]+))? ?([A-Za-z]+)")
# A unit is worth 10^first * 2^second * third of its base. The program has these units (docs/reference/formats/text.md).
_SECONDS = {"s": (0, 0, 1), "ms": (-3, 0, 1), "us": (-6, 0, 1), "ns": (-9, 0, 1), "min": (0, 0, 60), "h": (0, 0, 3600)}
_PREFIXES = {"": (0, 0), "k": (3, 0), "M": (6, 0), "G": (9, 0), "T": (12, 0), "Ki": (0, 10), "Mi": (0, 20),
             "Gi": (0, 30), "Ti": (0, 40)}
_BYTES = {prefix + letter: (ten, two + bits, 1) for prefix, (ten, two) in _PREFIXES.items()
          for letter, bits in (("B", 0), ("b", -3))}
_UNITS = {"s": _SECONDS, "bytes": {**_BYTES, "PB": (15, 0, 1), "PiB": (0, 50, 1)},
          "bytes_per_s": {name + "ps": worth for name, worth in _BYTES.items()}}
_WRITTEN = {"s": "s", "bytes": "B", "bytes_per_s": "Bps"}
_PLAIN = {str, int, float, bool}


class Value:
    """A frozen dataclass of a JSON Schema. Quantities are numbers in the unit that ends the name of their field: `_s`
    seconds, `_bytes`, `_bytes_per_s`. A field that is None is left out of the document."""

    _constants = {}  # keys that always have the same value
    _shape = {}  # by key: the attribute, and what its value is like (`_read`); keys that are not here are plain

    def __init_subclass__(cls):
        cls.__hash__ = Value.__hash__  # not that of a dataclass, which fails for dicts in it

    def __hash__(self):
        return hash((type(self), *(_hash(getattr(self, attribute)) for attribute, _, _ in self._fields())))

    @classmethod
    def from_json(cls, document):
        """The value of a JSON document (dicts, lists, texts, numbers)."""
        if not isinstance(document, dict):
            raise Error(f"expected a JSON document of {cls.__name__}, a dict, found {document!r}")
        unknown = document.keys() - cls.keys()
        if unknown:
            raise Error(f"{cls.__name__} has no key {min(unknown)!r}")
        return cls(**{attribute: _read(document.get(key), shape) for attribute, key, shape in cls._fields()})

    def to_json(self):
        """The JSON document of this value."""
        document = dict(self._constants)
        for attribute, key, shape in self._fields():
            value = getattr(self, attribute)
            if value is not None:
                document[key] = value if type(value) in _PLAIN and shape is None else _write(value, shape)
        return document

    @classmethod
    def keys(cls):
        """The keys of its documents."""
        return {key for _, key, _ in cls._fields()} | cls._constants.keys()

    @classmethod
    @lru_cache(maxsize=None)
    def _fields(cls):
        """The attribute, the key and the shape of each field."""
        keys = {attribute: (key, shape) for key, (attribute, shape) in cls._shape.items()}
        return tuple((each.name, *keys.get(each.name, (each.name, None))) for each in fields(cls))


class Answer(Value):
    """What a command answers. Printed, it is the text of the command line."""

    text = ""  # as the command line has it
    remarks = ()  # notes and warnings on the way to it
    inputs = {}  # the options that gave the model and the platform

    def told(self, **more):
        """This, with what came with it."""
        for name, value in more.items():
            object.__setattr__(self, name, value)
        return self

    def __str__(self):
        return self.text or repr(self)

    def _repr_html_(self):
        return f"<pre>{html.escape(str(self))}</pre>"


class Run(Answer):
    """A run of a plan, which can be drawn: its command runs again for that."""

    command = None  # that answered; None: it is part of another answer

    def picture(self):
        """The computations of each device, as an SVG image."""
        return Picture(self._drawn("--picture", ".svg"))

    def page(self):
        """The run as a page: timeline, memory and links over time, what waits for what."""
        return Page(self._drawn("--report", ".html"))

    def _drawn(self, option, ending):
        if self.command is None:
            raise Error("this run is part of another answer", hint="simulate its plan to draw it")
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / ("run" + ending)
            self.command.for_drawing(f"{option}={path}").run()
            return path.read_text(encoding="utf-8")


class Drawing(str):
    """The text of a file that shows itself in a notebook."""

    def save(self, path):
        Path(path).write_text(self, encoding="utf-8")


class Picture(Drawing):
    def _repr_svg_(self):
        return str(self)


class Page(Drawing):
    def _repr_html_(self):
        return f'<iframe srcdoc="{html.escape(self)}" width="100%" height="720" style="border: 0"></iframe>'


def _hash(value):
    """Equal for equal values, as the order of a dict makes none different."""
    if isinstance(value, dict):
        return hash(frozenset((key, _hash(each)) for key, each in value.items()))
    return hash(tuple(map(_hash, value)) if isinstance(value, (list, tuple)) else value)


def plain(value):
    """A value as a JSON document, with what it contains."""
    if isinstance(value, Value):
        return value.to_json()
    if isinstance(value, dict):
        return {key: plain(each) for key, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [each if type(each) in _PLAIN else plain(each) for each in value]
    return value


def json_text(value, indent=None):
    """The text of a value as a JSON document, with what it contains. Numbers of other libraries are numbers, too."""
    return json.dumps(plain(value), indent=indent, default=_number)


def _number(value):
    if hasattr(value, "__index__"):
        return operator.index(value)
    if hasattr(value, "__float__"):
        return float(value)
    raise Error(f"expected a JSON value, found {value!r}")


def _read(value, shape):
    """`shape`: None for a plain value, a class, a unit, ["list", shape], ["map", shape], or ["any of", shape, …], one
    for each kind of JSON."""
    if value is None or shape is None:
        return _frozen(value)
    if isinstance(shape, type):
        return shape.from_json(value)
    if isinstance(shape, str):
        return _parsed(value, shape)
    kind, *inner = shape
    if kind == "list":
        return tuple(_read(each, inner[0]) for each in value)
    if kind == "map":
        return {key: _read(each, inner[0]) for key, each in value.items()}
    return _read(value, next((each for each in inner if _fits(value, each)), None))


def _fits(value, shape):
    if isinstance(value, dict):
        return set(value) <= shape.keys() if isinstance(shape, type) else shape[0] == "map"
    if isinstance(value, list):
        return isinstance(shape, list) and shape[0] == "list"
    return isinstance(shape, str)


def _write(value, shape):
    if isinstance(shape, str):
        return value if isinstance(value, str) else f"{_number(value)!r} {_WRITTEN[shape]}"
    if isinstance(shape, list) and shape[0] == "list":
        return [_write(each, shape[1]) for each in value]
    if isinstance(shape, list) and shape[0] == "map":
        return {key: _write(each, shape[1]) for key, each in value.items()}
    if isinstance(shape, list) and not isinstance(value, (Value, list, tuple, dict, str, bool)):
        unit = next((each for each in shape[1:] if isinstance(each, str)), None)
        return _write(value, unit) if unit else value
    return plain(value)


def _parsed(value, unit):
    """The number of a quantity, the one that the program reads. What is none is left to the program to refuse."""
    if not isinstance(value, str):
        if value == 0:
            return 0
        raise Error(f"expected a quantity with its unit, found {value!r}")
    match = _NUMBER.fullmatch(value)
    worth = _UNITS[unit].get(match.group(3)) if match else None
    if worth is None:
        return 0 if value == "0" else value
    ten, two, factor = worth
    decimal = f"{match.group(1)}e{int(match.group(2) or 0) + ten}"
    if unit == "bytes":
        amount = Fraction(decimal) * Fraction(2) ** two
        return int(amount) if amount.denominator == 1 else value
    amount = float(decimal) * 2.0 ** two * factor
    return amount if math.isfinite(amount) else value


def _frozen(value):
    if isinstance(value, list):
        return tuple(_frozen(each) for each in value)
    if isinstance(value, dict):
        return {key: _frozen(each) for key, each in value.items()}
    return value
