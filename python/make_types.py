"""Writes stagecraft/types.py: a frozen dataclass for each record of the JSON Schemas in sim/io/schemas.

    python3 python/make_types.py          # writes it
    python3 python/make_types.py --check  # says with exit code 1 that it would differ
"""

import json
import keyword
import re
import sys
import textwrap
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
SCHEMAS = ROOT / "sim" / "io" / "schemas"
TARGET = ROOT / "python" / "stagecraft" / "types.py"
FILES = ("model", "platform", "plan", "request")
ANSWERS = ("simulation", "planning", "comparison", "largest-size", "size-comparison")
UNITS = {"time": "s", "size": "bytes", "bandwidth": "bytes_per_s"}
PLAIN = {"string": "str", "integer": "int", "number": "float", "boolean": "bool", "object": "dict", "array": "tuple"}
HEAD = '''"""The records of files and answers: frozen dataclasses, made from the JSON Schemas by make_types.py."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ._values import Answer, Run, Value
'''


def camel(name):
    return "".join(part[:1].upper() + part[1:] for part in re.split(r"[-_]", name))


class Record:
    """A class to be."""

    def __init__(self, name, schema):
        self.name = name
        self.schema = schema
        self.fields = []  # (key, attribute, shape, annotation, description, required)


class Maker:
    def __init__(self):
        self.schemas = {path.stem: json.loads(path.read_text()) for path in SCHEMAS.glob("*.json")}
        self.records = {}  # by the place of the record in its schema
        self.names = {}

    def resolve(self, node, file):
        """The node that a reference means, its file and its place."""
        target, _, path = node["$ref"].partition("#")
        file = target.removesuffix(".json") or file
        found = self.schemas[file]
        for part in path.strip("/").split("/") if path else []:
            found = found[part]
        return found, file, path.rpartition("/")[2] or file

    def record(self, node, file, name):
        key = id(node)
        if key not in self.records:
            name = camel(name)
            if name in self.names:
                name = camel(file) + name
            while name in self.names:
                name += "Entry"
            self.names[name] = key
            record = self.records[key] = Record(name, node)
            self.fill(record, node, file)
        return self.records[key]

    def fill(self, record, node, file):
        required = set(node.get("required", ()))
        for key, value in node["properties"].items():
            if "const" in value and key == "schema":
                continue
            shape, annotation = self.shape(value, file, key)
            attribute = key + ("_" if keyword.iskeyword(key) else "")
            units = units_in(shape)
            if len(units) > 1:  # in the words of the file, then
                shape = "None"
            elif units and not f"_{key}".endswith(f"_{min(units)}"):
                attribute += "_" + min(units)
            record.fields.append((key, attribute, shape, annotation, value.get("description"), key in required))

    def shape(self, node, file, name):
        """What a value is like, for `Value`, and its annotation."""
        if "$ref" in node:
            target, file, place = self.resolve(node, file)
            if place in UNITS:
                unit = UNITS[place]
                return repr(unit), "int" if unit == "bytes" else "float"
            return self.shape(target, file, place)
        for word in ("anyOf", "oneOf"):
            if word in node and "properties" not in node:
                return self.alternatives(node[word], file, name)
        if "enum" in node:
            return "None", " | ".join(sorted({annotation_of(each) for each in node["enum"]}))
        if "const" in node:
            return "None", annotation_of(node["const"])
        kinds = node.get("type", "any")
        kinds = [kinds] if isinstance(kinds, str) else kinds
        if "properties" in node and node.get("additionalProperties") is False:
            known = self.record(node, file, name).name
            return known, known + (" | None" if "null" in kinds else "")
        if kinds == ["array"] and isinstance(node.get("items"), dict):
            shape, annotation = self.shape(node["items"], file, name.removesuffix("s"))
            return listed("list", shape), f"tuple[{annotation}, ...]"
        if kinds == ["object"] and isinstance(node.get("additionalProperties"), dict):
            shape, annotation = self.shape(node["additionalProperties"], file, name.removesuffix("s"))
            return listed("map", shape), f"dict[str, {annotation}]"
        return "None", " | ".join(PLAIN.get(kind, "None" if kind == "null" else "Any") for kind in kinds)

    def alternatives(self, nodes, file, name):
        shapes, annotations = [], []
        is_plain = False
        for node in nodes:
            shape, annotation = self.shape(node, file, name)
            is_plain = is_plain or (shape == "None" and annotation != "None")
            if shape != "None" and shape not in shapes:
                shapes.append(shape)
            for each in annotation.split(" | ") if "[" not in annotation else [annotation]:
                if each not in annotations:
                    annotations.append(each)
        if "None" in annotations:
            annotations.append(annotations.pop(annotations.index("None")))
        if len(shapes) + is_plain > 1:
            return "['any of', " + ", ".join(shapes) + "]", " | ".join(annotations)
        return shapes[0] if shapes else "None", " | ".join(annotations)


def units_in(shape):
    return set(re.findall(r"'(s|bytes|bytes_per_s)'", shape))


def listed(kind, shape):
    return "None" if shape == "None" else f"['{kind}', {shape}]"


def annotation_of(value):
    return "None" if value is None else type(value).__name__


def base(record):
    title = record.schema.get("title", "")
    return "Run" if title.endswith("/simulation") else "Answer" if "/answer/" in title else "Value"


def written(record):
    """The text of a class. Its table says only which keys are not read and written as they are."""
    node = record.schema
    described = node.get("description", "")
    lines = ["@dataclass(frozen=True)", f"class {record.name}({base(record)}):"]
    if described:
        lines += textwrap.wrap(f'"""{described[:1].upper()}{described[1:].rstrip(".")}."""', 116,
                               initial_indent="    ", subsequent_indent="    ") + [""]
    for key, attribute, _, annotation, description, required in sorted(record.fields, key=lambda each: not each[-1]):
        if not required and "None" not in annotation.split(" | ") and annotation != "Any":
            annotation += " | None"
        line = f"    {attribute}: {annotation}{'' if required else ' = None'}"
        note = f"  # {description}" if description else ""
        if len(line + note) > 120:
            lines += textwrap.wrap(description, 116, initial_indent="    # ", subsequent_indent="    # ")
            note = ""
        lines.append(line + note)
    return "\n".join(lines)


def tables(record):
    title = record.schema.get("properties", {}).get("schema", {}).get("const")
    entries = [f'"{key}": ("{attribute}", {shape})' for key, attribute, shape, *_ in record.fields
               if shape != "None" or attribute != key]
    lines = [f'{record.name}._constants = {{"schema": "{title}"}}'] if title else []
    if entries:
        lines += textwrap.wrap(f"{record.name}._shape = {{{', '.join(entries)}}}", 120, subsequent_indent="    ",
                               break_long_words=False)
    return lines


def text():
    maker = Maker()
    for name in FILES + ANSWERS:
        maker.record(maker.schemas[name], name, name)
    records = sorted(maker.records.values(), key=lambda record: record.name)
    names = ", ".join(f'"{record.name}"' for record in records)
    exported = textwrap.fill(f"__all__ = [{names}]", 116, subsequent_indent="           ")
    classes = "\n\n\n".join(written(record) for record in records)
    return f"{HEAD}\n{exported}\n\n\n{classes}\n\n\n" + "\n".join(
        line for record in records for line in tables(record)) + "\n"


if __name__ == "__main__":
    if sys.argv[1:] == ["--check"]:
        sys.exit(0 if TARGET.is_file() and TARGET.read_text() == text() else f"{TARGET} differs from the schemas")
    TARGET.write_text(text())
