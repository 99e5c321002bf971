#!/usr/bin/env python3
"""What calls of the Python package cost, beside a process for each call.

usage: python_calls.py PROGRAM PAGE

PAGE gets the table anew, between its marks. A time is that of a wall clock for one call, the least of several rounds; CPU
time is that of Python and its helper together.
"""
import json
import os
import pathlib
import re
import resource
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
ROUNDS = 5
MODEL = {"schema": "stagecraft/model/1", "model": "four-layers", "device": "A", "microbatch_size": 1, "input": 0,
         "layers": [{"name": f"l{i}", "forward": f"{i} ms", "backward": f"{2 * i} ms", "parameters": "1 MB",
                     "output": "1 MB", "stash": "2 MB"} for i in (1, 2, 3, 4)]}
PLATFORM = {"schema": "stagecraft/platform/1", "platform": "pair", "device_kinds": {"A": {"memory": "1 GiB"}},
            "node_kinds": {"node": {"devices": {"count": 2, "kind": "A"},
                                    "interconnect": {"type": "switch", "bandwidth": "1 GBps", "latency": "1 us"}}},
            "nodes": {"kind": "node", "count": 1}}


def cost(work, count):
    """The least wall-clock time of one of so many calls."""
    least = float("inf")
    for _ in range(ROUNDS):
        begin = time.perf_counter()
        for _ in range(count):
            work()
        least = min(least, (time.perf_counter() - begin) / count)
    return least


def used():
    return sum(each.ru_utime + each.ru_stime for each in map(resource.getrusage, (resource.RUSAGE_SELF,
                                                                                  resource.RUSAGE_CHILDREN)))


def evaluations_per_second(stagecraft, plan):
    """With one core: Python's and the helper's CPU time together."""
    count = 20_000
    begin = used()
    with stagecraft.Evaluator(MODEL, PLATFORM) as evaluator:
        for _ in range(count // 1000):
            evaluator.evaluate_all([plan] * 1000)
    return count / (used() - begin)


def main(program, page):
    os.environ["STAGECRAFT"] = os.path.abspath(program)
    sys.path.insert(0, str(ROOT / "python"))
    import stagecraft
    small = stagecraft.plan(MODEL, PLATFORM, "uniform", microbatches=4, set={"uniform.stages": 2})
    large = stagecraft.plan("vgg16", "dgx-1-v100", "uniform", set={"uniform.stages": 4})
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        for name, plan in (("two stages, 4 microbatches", small), ("`vgg16` on `dgx-1-v100`, four stages", large)):
            words = [os.environ["STAGECRAFT"], *plan_words(stagecraft, plan, folder), "--json"]
            process = cost(lambda: subprocess.run(words, stdout=subprocess.DEVNULL, check=True), 5)
            call = cost(lambda: stagecraft.simulate(plan), 20)
            rows.append(f"| replay of a plan: {name} | {1e3 * process:.1f} ms | {1e3 * call:.1f} ms |")
        with stagecraft.Evaluator(MODEL, PLATFORM) as evaluator:
            one = cost(lambda: evaluator.evaluate(small), 1000)
            several = cost(lambda: evaluator.evaluate_all([small] * 1000), 2) / 1000
    rows.append(f"| evaluation of the first plan, one by one | – | {1e6 * one:.0f} us |")
    rows.append(f"| the same, 1,000 in a call | – | {1e6 * several:.0f} us |")
    table = "| Call | process | in Python |\n|---|---|---|\n" + "\n".join(rows)
    speed = evaluations_per_second(stagecraft, small)
    text = (f"{table}\n\nOne core makes {round(speed, -2):,.0f} of these evaluations in a second, Python and its helper "
            "together.")
    page = pathlib.Path(page)
    page.write_text(re.sub(r"(<!-- calls -->).*(<!-- / calls -->)", rf"\1\n\n{text}\n\n\2",
                           page.read_text(), flags=re.DOTALL))
    print(text)


def plan_words(stagecraft, planning, folder):
    """The command line of a replay, with its files."""
    words = ["simulate", f"{folder}/plan.json"]
    documents = {"plan": planning.plan.to_json(), **planning.inputs}
    for name, document in documents.items():
        if isinstance(document, dict):
            pathlib.Path(folder, f"{name}.json").write_text(json.dumps(document, indent=1))
        if name != "plan":
            words.append(f"--{name}={f'{folder}/{name}.json' if isinstance(document, dict) else document}")
    return words


if __name__ == "__main__":
    main(*sys.argv[1:])
