"""Reads the results of a Stagecraft study into Python.

    from stagecraft import results
    study = results.read("out")
    study.rows                       # a list of dicts, one for each cell
    study.frame()                    # the same as a pandas DataFrame
    study.pairs(planner="pipedream") # each cell beside its baseline

Needs Python 3.9 and nothing else; pandas only for frame(). The columns are those of docs/reference/study-results.md;
docs/how-to/use-stagecraft-in-python.md is an introduction.
"""

import csv
import json
import math
import re
import sqlite3
from contextlib import closing
from pathlib import Path

__all__ = ["Study", "geometric_mean", "read"]

JSON_COLUMNS = ("device_peak_memory_bytes", "idle_memory_by_stage", "details")
TEXT_COLUMNS = ("key", "status", "message", "model", "platform", "planner", "label", "schedule", "events", "engine",
                "network", "memory", "replan", "peak_memory_device", "overflow_device", "configuration", "bottleneck",
                "resolved_schedule")
# Columns that tell which cell a row is about; so do all that have a point in their name.
CELL_COLUMNS = ("model", "platform", "planner", "label", "schedule", "microbatches", "microbatch_size", "global_batch",
                "samples_per_update", "run_length", "memory", "engine", "network", "iterations", "events", "replan")
THROUGHPUT = "throughput_samples_per_s"

_WHOLE = re.compile(r"-?(0|[1-9][0-9]*)")
_REAL = re.compile(r"-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][-+]?[0-9]+)?")


class Study:
    """The rows of a study, a dict for each cell that has run, in the order of the cells. What one has not is None."""

    def __init__(self, rows, about=None, timings=None):
        self.rows = rows
        self.about = about or {}  # study, version, baseline, ...; empty where only results.csv is there
        self.timings = timings or {}  # by the cell's key: planning_time_s and wall_time_s

    def __len__(self):
        return len(self.rows)

    def __iter__(self):
        return iter(self.rows)

    def ok(self):
        """The rows that have figures of a plan that runs."""
        return [row for row in self.rows if row["status"] == "ok"]

    def cell_columns(self):
        """The columns that say which cell a row is about, the seed apart."""
        names = self.rows[0] if self.rows else []
        return [name for name in names if name in CELL_COLUMNS or "." in name]

    def differing(self):
        """Those of them that are not the same in all rows."""
        return [name for name in self.cell_columns()
                if len({_hashable(row[name]) for row in self.rows}) > 1]

    def own_schedules(self):
        """Whether each planner has one schedule of its own, which then says who plans."""
        schedules = {}
        for row in self.rows:
            who = tuple((name, _hashable(row[name])) for name in self.cell_columns() if says_who(name))
            schedules.setdefault(who, set()).add(row.get("schedule"))
        return (all(len(each) == 1 for each in schedules.values())
                and len(set().union(*schedules.values())) > 1 if schedules else False)

    def pairs(self, figure=THROUGHPUT, baseline=None, **more):
        """[(row, baseline row, ratio of the figure)] of all rows that are ok and whose baseline is.

        The baseline of a row has the same seed and the same cell columns, but for those that say who plans and those
        that the baseline names. `baseline` is a dict such as {"planner": "pipedream"}, which may also be given as
        pairs(planner="pipedream"); without one it is the study's own."""
        pattern = {**(baseline or {}), **more} or self.about.get("baseline")
        if not pattern:
            raise ValueError('no baseline: give one, such as pairs(planner="pipedream")')
        unknown = [name for name in pattern if name not in self.cell_columns()]
        if self.rows and unknown:
            raise KeyError(f"the baseline names {unknown[0]!r}, which is no column of a cell")
        own_schedules = self.own_schedules()
        common = [name for name in self.cell_columns()
                  if not says_who(name, own_schedules) and name not in pattern]

        def place(row):
            return (row["seed"], *(_hashable(row[name]) for name in common))

        baselines = {}
        for row in self.rows:
            if all(row[name] == value for name, value in pattern.items()):
                baselines.setdefault(place(row), row)
        result = []
        for row in self.ok():
            other = baselines.get(place(row))
            if other is not None and other["status"] == "ok" and row.get(figure) is not None and other.get(figure):
                result.append((row, other, row[figure] / other[figure]))
        return result

    def frame(self, timings=False):
        """The rows as a pandas DataFrame, with the timings if asked for."""
        try:
            import pandas
        except ImportError:
            raise ImportError("frame() needs pandas (Debian: apt install python3-pandas); .rows does without") from None
        if not timings:
            return pandas.DataFrame(self.rows)
        return pandas.DataFrame([{**row, **self.timings.get(row["key"], {})} for row in self.rows])


def read(folder):
    """The study in a folder that `stagecraft collect` has written: from results.sqlite, else from results.csv."""
    folder = Path(folder)
    database = folder / "results.sqlite"
    table = folder / "results.csv"
    if database.is_file():
        study = _read_database(database)
    elif table.is_file():
        study = _read_csv(table)
    else:
        raise FileNotFoundError(f"{folder} has neither results.sqlite nor results.csv; "
                                f"stagecraft collect {folder} writes both")
    timings = folder / "timings.csv"
    if not study.timings and timings.is_file():
        study.timings = _by_key(_read_csv(timings).rows)
    return study


def geometric_mean(ratios):
    """The mean of ratios; None of none."""
    ratios = list(ratios)
    return math.exp(sum(map(math.log, ratios)) / len(ratios)) if ratios else None


def says_who(column, own_schedules=False):
    """Whether a column says who plans: the planner, its label, an option PLANNER.KEY, or a schedule of its own."""
    group, dot, _ = column.partition(".")
    is_option = dot and group not in ("training", "vary", "platform", "model", "tag")
    return bool(column in ("planner", "label") or is_option or (own_schedules and column == "schedule"))


def _hashable(value):
    return json.dumps(value, sort_keys=True) if isinstance(value, (dict, list)) else value


def _by_key(rows):
    return {row["key"]: {name: value for name, value in row.items() if name != "key"} for row in rows}


def _from_json(text):
    """JSON texts as what they mean; anything else as it is."""
    try:
        return json.loads(text) if isinstance(text, str) else text
    except ValueError:
        return text


def _read_database(path):
    with closing(sqlite3.connect(path.absolute().as_uri() + "?mode=ro", uri=True)) as connection:
        connection.row_factory = sqlite3.Row
        tables = {row[0] for row in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
        rows = [dict(row) for row in connection.execute('SELECT * FROM results ORDER BY "cell"')]
        about = dict(map(tuple, connection.execute("SELECT * FROM study"))) if "study" in tables else {}
        timings = [dict(row) for row in connection.execute("SELECT * FROM timings")] if "timings" in tables else []
    for row in rows:
        for name in JSON_COLUMNS:
            if name in row:
                row[name] = _from_json(row[name])
    about = {name: _from_json(value) if name in ("baseline", "files") else value for name, value in about.items()}
    return Study(rows, about, _by_key(timings))


def _read_csv(path):
    csv.field_size_limit(2**31 - 1)
    with open(path, newline="", encoding="utf-8") as stream:
        rows = list(csv.DictReader(stream))
    for name in rows[0] if rows else []:
        convert = _converter(name, [row[name] for row in rows])
        for row in rows:
            row[name] = convert(row[name]) if row[name] != "" or name == "message" else None
    return Study(rows)


def _converter(name, texts):
    """How to read a column of a CSV file: as numbers only if all of it is numbers."""
    texts = [text for text in texts if text != ""]
    if name in TEXT_COLUMNS:
        return str
    if name in JSON_COLUMNS:
        return _from_json
    if all(_WHOLE.fullmatch(text) for text in texts):
        return int
    if all(_REAL.fullmatch(text) for text in texts):
        return float
    if all(text in ("true", "false") for text in texts):
        return lambda text: text == "true"
    return str
