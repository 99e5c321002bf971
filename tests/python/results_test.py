"""The Python reader, on folders made here in the layout of `stagecraft collect`."""

import csv
import json
import os
import sqlite3
import sys
import tempfile
import unittest
from contextlib import closing
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "python"))
from stagecraft import results  # noqa: E402

HOSTILE = '<script>"x", \'y\'|\n</script>\x1b &'
COLUMNS = {"cell": "INTEGER", "key": "TEXT", "status": "TEXT", "message": "TEXT", "seed": "INTEGER", "model": "TEXT",
           "platform": "TEXT", "planner": "TEXT", "label": "TEXT", "madpipe.states": "TEXT",
           "microbatch_size": "INTEGER", "throughput_samples_per_s": "REAL", "peak_memory_bytes": "INTEGER",
           "device_peak_memory_bytes": "TEXT", "details": "TEXT"}


def example():
    """Two sizes, two seeds; the second planner is faster by the seed and cannot plan the larger size."""
    rows = []
    for size in (4, 8):
        for planner in ("uniform", "madpipe"):
            for seed in (1, 2):
                ok = size == 4 or planner == "uniform"
                speed = 100.0 * size * seed * (1 if planner == "uniform" else 1 + seed)
                rows.append({
                    "cell": len(rows), "key": f"key{len(rows)}", "status": "ok" if ok else "infeasible",
                    "message": "" if ok else "no stage fits", "seed": seed, "model": "vgg16", "platform": "007",
                    "planner": planner, "label": HOSTILE if planner == "madpipe" else None,
                    "madpipe.states": "grid" if planner == "madpipe" else None, "microbatch_size": size,
                    "throughput_samples_per_s": speed if ok else None, "peak_memory_bytes": 2**35 if ok else None,
                    "device_peak_memory_bytes": {"gpu0": 2**35, "gpu1": 1} if ok else None,
                    "details": {"states": [1, 2], "why": HOSTILE} if ok else None})
    return rows


def as_stored(value):
    return json.dumps(value) if isinstance(value, (dict, list)) else value


def write_csv(path, rows):
    with open(path, "w", newline="", encoding="utf-8") as stream:
        writer = csv.writer(stream, lineterminator="\n")
        writer.writerow(rows[0])
        writer.writerows([["" if value is None else as_stored(value) for value in row.values()] for row in rows])


def write_database(path, rows, study=True):
    with closing(sqlite3.connect(path)) as connection, connection:
        columns = ", ".join(f'"{name}" {kind}' for name, kind in COLUMNS.items())
        connection.execute(f"CREATE TABLE results ({columns})")
        marks = ", ".join("?" * len(COLUMNS))
        for row in reversed(rows):  # the reader sorts
            connection.execute(f"INSERT INTO results VALUES ({marks})", [as_stored(value) for value in row.values()])
        if study:
            connection.execute("CREATE TABLE study (name TEXT, value)")
            connection.executemany("INSERT INTO study VALUES (?, ?)",
                                   [("study", HOSTILE), ("cells", 8), ("baseline", '{"planner": "uniform"}')])


class Results(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="stagecraft-python-")
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def test_database_and_csv_give_the_same_rows(self):
        rows = example()
        write_csv(self.folder / "results.csv", rows)
        study = results.read(self.folder)
        self.assertEqual(study.rows, rows)
        self.assertEqual(study.about, {})
        write_database(self.folder / "results.sqlite", rows)
        study = results.read(str(self.folder))
        self.assertEqual(study.rows, rows)
        self.assertEqual(study.about["baseline"], {"planner": "uniform"})
        self.assertEqual(study.about["cells"], 8)
        self.assertEqual(len(study.ok()), 6)
        self.assertEqual(study.differing(), ["planner", "label", "madpipe.states", "microbatch_size"])

    def test_types_of_csv_columns(self):
        (self.folder / "results.csv").write_text(
            "cell,key,status,planner,p.a,p.b,p.c,p.d,throughput_samples_per_s\n"
            "0,1,ok,12,true,007,3,1e-3,5\n1,2,ok,13,,1,x,2,6.5\n", encoding="utf-8")
        first, second = results.read(self.folder).rows
        self.assertEqual(list(first.values()), [0, "1", "ok", "12", True, "007", "3", 0.001, 5.0])
        self.assertEqual(list(second.values()), [1, "2", "ok", "13", None, "1", "x", 2.0, 6.5])
        self.assertIsInstance(first["throughput_samples_per_s"], float)

    def test_pairs_by_seed(self):
        write_database(self.folder / "results.sqlite", example())
        study = results.read(self.folder)
        pairs = study.pairs()
        self.assertEqual([(row["planner"], row["microbatch_size"], row["seed"], ratio) for row, _, ratio in pairs],
                         [("uniform", 4, 1, 1.0), ("uniform", 4, 2, 1.0), ("madpipe", 4, 1, 2.0),
                          ("madpipe", 4, 2, 3.0), ("uniform", 8, 1, 1.0), ("uniform", 8, 2, 1.0)])
        self.assertTrue(all(row["seed"] == base["seed"] and base["planner"] == "uniform" for row, base, _ in pairs))
        ratios = [ratio for row, _, ratio in study.pairs(microbatch_size=4) if row["microbatch_size"] == 8]
        self.assertEqual(ratios, [2.0, 2.0])
        self.assertEqual(len(study.pairs(planner="madpipe")), 4)
        self.assertEqual(study.pairs(planner="nobody"), [])
        with self.assertRaisesRegex(KeyError, "which is no column"):
            study.pairs(planer="uniform")
        self.assertAlmostEqual(results.geometric_mean([2.0, 8.0]), 4.0)
        self.assertIsNone(results.geometric_mean([]))

    def test_no_baseline(self):
        write_csv(self.folder / "results.csv", example())
        with self.assertRaisesRegex(ValueError, "no baseline"):
            results.read(self.folder).pairs()

    def test_schedules_of_planners_do_not_part_pairs(self):
        rows = [{"cell": i, "key": str(i), "status": "ok", "seed": 1, "planner": planner, "schedule": schedule,
                 "throughput_samples_per_s": speed}
                for i, (planner, schedule, speed) in enumerate([("a", "1f1b", 2.0), ("b", "pipedream", 6.0)])]
        study = results.Study(rows)
        self.assertEqual([ratio for _, _, ratio in study.pairs(planner="a")], [1.0, 3.0])
        rows.append({**rows[1], "cell": 2, "schedule": "1f1b"})
        self.assertEqual([ratio for _, _, ratio in study.pairs(planner="a")], [1.0, 3.0])
        self.assertEqual([row["cell"] for row, _, _ in study.pairs(planner="a")], [0, 2])

    def test_missing_results(self):
        with self.assertRaisesRegex(FileNotFoundError, "stagecraft collect"):
            results.read(self.folder)

    def test_timings_apart(self):
        write_database(self.folder / "results.sqlite", example())
        (self.folder / "timings.csv").write_text("key,planning_time_s,wall_time_s\nkey0,0.5,0.25\n", encoding="utf-8")
        study = results.read(self.folder)
        self.assertEqual(study.timings, {"key0": {"planning_time_s": 0.5, "wall_time_s": 0.25}})
        self.assertNotIn("wall_time_s", study.rows[0])

    def test_frame(self):
        write_database(self.folder / "results.sqlite", example())
        study = results.read(self.folder)
        try:
            import pandas  # noqa: F401
        except ImportError:
            with self.assertRaisesRegex(ImportError, "python3-pandas"):
                study.frame()
        else:
            self.assertEqual(list(study.frame()["microbatch_size"]), [row["microbatch_size"] for row in study.rows])


if __name__ == "__main__":
    unittest.main()
