"""Model files: which files they may replace, and how they are written."""

import contextlib
import os
import re

from .errors import ProfilerError

_ENOUGH = 65536  # bytes, to tell what a file is
_YAML = re.compile(r"""^["']?schema["']?[ \t]*:[ \t]*["']?stagecraft/model/""", re.MULTILINE)
_JSON = re.compile(r"""\A\s*\{.*"schema"\s*:\s*"stagecraft/model/""", re.DOTALL)


def refuse_overwriting(path, inputs=()):
    """Refuses a path that cannot be that of a file, one of the files in `inputs`, and a file that exists, is not empty
    and is no model file.
    **Raises** ProfilerError."""
    folder = os.path.dirname(path)
    if not path:
        raise ProfilerError("expected the name of a file to write, found an empty one")
    if os.path.isdir(path):
        _refuse(path, "it is a directory")
    if folder and not os.path.exists(folder):
        _refuse(path, f"there is no folder '{folder}' (make the folder first)")
    if not os.path.isfile(path):
        return
    if any(os.path.exists(each) and os.path.samefile(path, each) for each in inputs):
        _refuse(path, "the command reads it (name another file)")
    if os.path.getsize(path) > 0 and not _is_model_file(path):
        _refuse(path, "it exists and is no model file (name another file, or remove this one)")


def write_atomically(path, text):
    """Writes a file completely or not at all: to a temporary file beside it, which is then renamed. A file that is not
    regular (a pipe, a device) is written directly. A symbolic link is followed.
    **Raises** OSError; an old file of that name is then unchanged."""
    if os.path.exists(path) and not os.path.isfile(path):
        _write(path, text)
        return
    target = os.path.realpath(path)
    beside = f"{target}.{os.getpid()}.part"
    try:
        _write(beside, text)
        os.replace(beside, target)
    finally:
        with contextlib.suppress(OSError):  # it has its final name, or was not made
            os.remove(beside)


def _refuse(path, why):
    raise ProfilerError(f"{path}: cannot be written: {why}")


def _is_model_file(path):
    with open(path, "rb") as stream:
        start = stream.read(_ENOUGH).decode("utf-8", "replace")
    return bool(_YAML.search(start) or _JSON.match(start))


def _write(path, text):
    with open(path, "w", encoding="utf-8") as stream:
        stream.write(text)
