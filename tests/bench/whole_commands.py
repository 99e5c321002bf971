#!/usr/bin/env python3
"""What whole commands cost: CPU seconds and memory of this program beside an earlier one.

usage: whole_commands.py NOW BEFORE PAGE NAME

NOW and BEFORE are two programs `stagecraft`, NAME says what BEFORE is. Each command runs at up to three sizes, with the
two programs in turn; what counts is the least CPU time of several runs and the largest peak of memory. PAGE is written
anew: its tables have the figures, and the exponent with which the time grows over the sizes.
"""
import dataclasses
import math
import os
import pathlib
import subprocess
import sys
import tempfile

RUNS = 3             # of each command and program; one if it takes long
LONG = 5.0           # CPU seconds
TIMEOUT = 150        # seconds of wall clock


@dataclasses.dataclass
class Family:
    """A command that is run at several sizes. `files` gives the parts of its inputs, `words` what the program is given.

    Inputs are never whole in memory, since the peak of a process includes that of the one that started it.
    """
    name: str
    unit: str
    sizes: list
    files: object
    words: object


def model(layers, kinds=1):
    yield 'schema: stagecraft/model/1\nmodel: bench\ndevice: A\nmicrobatch_size: 1\nsource: "made up"\nlayers:\n'
    for i in range(layers):
        factor = 1 + i % kinds
        yield (f"  - {{name: l{i}, forward: {factor} ms, backward: {2 * factor} ms, parameters: {factor} MiB,"
               f" output: 1 MiB, stash: {2 * factor} MiB}}\n")


def platform(devices, memory="1000 GiB"):
    nodes = max(1, devices // 8)
    yield (f"schema: stagecraft/platform/1\nplatform: bench\ndevice_kinds:\n  A: {{memory: {memory}, speed: 1}}\n"
            f"node_kinds:\n  n:\n    devices: {{kind: A, count: {devices // nodes}}}\n"
            "    interconnect: {type: switch, bandwidth: 100 GBps, latency: 2 us}\n"
            "    host: {memory: 4000 GiB, link: {bandwidth: 12 GBps, latency: 5 us}}\n"
            "    nic: {bandwidth: 400 Gbps, latency: 5 us, per: device}\n"
            f"nodes: {{kind: n, count: {nodes}}}\nnetwork: {{type: switch}}\n")


def plan(stages, microbatches, schedule="1f1b", replicas=1, first="", layers_of_each=1):
    yield ("schema: stagecraft/plan/1\nplanner: bench\nmodel: bench\nplatform: bench\nmicrobatch_size: 1\n"
           f"microbatches: {microbatches}\nschedule: {{name: {schedule}}}\nstages:\n")
    for s in range(stages):
        layers = ", ".join(f"l{s * layers_of_each + k}" for k in range(layers_of_each))
        yield f"  - {{layers: [{layers}], replication: round-robin{first if s == 0 else ''}, devices: ["
        for r in range(replicas):
            yield f"{', ' if r > 0 else ''}gpu{s * replicas + r}"
        yield "]}\n"


def run_files(stages, microbatches, **more):
    replicas = more.get("replicas", 1)
    return {"m.yaml": model(stages * more.get("layers_of_each", 1)), "p.yaml": platform(stages * replicas),
            "plan.yaml": plan(stages, microbatches, **more)}


INPUTS = ["--model", "m.yaml", "--platform", "p.yaml"]


def simulate(*more):
    return lambda size: ["simulate", "plan.yaml", *INPUTS, *more]


def planned(planner, *more):
    return lambda size: ["plan", *INPUTS, "--planner", planner, "--microbatches", "32", *more]


def stragglers(microbatches, apart):
    """Another device is slow every `apart` microbatches."""
    yield "schema: stagecraft/events/1\nevents:\n"
    for k, begin in enumerate(range(0, microbatches, apart)):
        if k > 0:
            yield f"  - {{at_microbatch: {begin}, device: gpu{(5 * k - 5) % 16}, slowdown: 1}}\n"
        yield f"  - {{at_microbatch: {begin}, device: gpu{5 * k % 16}, slowdown: 1.5}}\n"


def replanned(microbatches):
    return {**run_files(16, microbatches, schedule="pipedream", layers_of_each=4), "e.yaml": stragglers(microbatches, 700)}


def study(cells):
    return {"s.yaml": ["schema: stagecraft/study/1\nstudy: bench\n"
                       "base: {model: bert-large, platform: pipedream-cluster-a, planner: {name: uniform, stages: 4}, "
                       "microbatches: 32, engine: evaluate}\n"
                       f"matrix: {{microbatch_size: [1, 2, 3, 4, 5]}}\nseeds: {{count: {cells // 5}}}\n"]}


EVALUATE = ("--engine", "evaluate")
SOME = ", recompute: [{layers: [l0], microbatches: {first: 1, of: 3}}]"
FAMILIES = [
    Family("`simulate --engine evaluate`, 1F1B with 1,024 microbatches", "stages", [64, 256, 1024],
           lambda n: run_files(n, 1024), simulate(*EVALUATE)),
    Family("the same with a memory action for some microbatches", "stages", [64, 256, 1024],
           lambda n: run_files(n, 1024, first=SOME), simulate(*EVALUATE)),
    Family("`simulate --engine evaluate`, 1F1B with 8 stages", "microbatches", [10_000, 100_000, 1_000_000],
           lambda n: run_files(8, n), simulate(*EVALUATE)),
    Family("`simulate`, 1F1B with 256 stages", "microbatches", [1_000, 10_000, 1_000_000],
           lambda n: run_files(256, n), simulate()),
    Family("`simulate --engine evaluate`, PipeDream with 16 stages", "microbatches", [1_000, 10_000, 100_000],
           lambda n: run_files(16, n, schedule="pipedream"), simulate(*EVALUATE)),
    Family("`simulate --engine evaluate`, one stage, 2 microbatches for each device", "devices", [4096, 16384, 65536],
           lambda n: run_files(1, 2 * n, replicas=n), simulate(*EVALUATE)),
    Family("`simulate`, 1F1B with 256 microbatches", "stages", [16, 64, 256],
           lambda n: run_files(n, 256), simulate()),
    Family("`simulate --replan vpipe`, 16 stages", "microbatches", [1_000, 10_000, 100_000], replanned,
           simulate(*EVALUATE, "--events", "e.yaml", "--replan", "vpipe,imbalance=0,patience=1")),
    Family("the same run without `--replan`", "microbatches", [1_000, 10_000, 100_000], replanned,
           simulate(*EVALUATE, "--events", "e.yaml")),
    Family("`simulate --trace`, 64 stages", "microbatches", [40, 400, 4_000],
           lambda n: run_files(64, n), simulate(*EVALUATE, "--trace", "t.pftrace")),
    Family("`plan --planner uniform`, 8 devices", "layers", [1_000, 10_000, 100_000],
           lambda n: {"m.yaml": model(n, 4), "p.yaml": platform(8)}, planned("uniform")),
    Family("the same with half the memory that it needs", "layers", [300, 1_000, 3_000],
           lambda n: {"m.yaml": model(n, 4), "p.yaml": platform(8, f"{3 * n} MiB")}, planned("uniform")),
    Family("`plan --planner pipedream`, 16 devices", "layers", [100, 300, 1_000],
           lambda n: {"m.yaml": model(n, 4), "p.yaml": platform(16)}, planned("pipedream")),
    Family("`plan --planner vpipe`, 8 devices", "layers", [1_000, 3_000, 10_000],
           lambda n: {"m.yaml": model(n, 4), "p.yaml": platform(8)}, planned("vpipe")),
    Family("`plan --planner contiguous`, 8 devices", "layers", [1_000, 3_000, 10_000],
           lambda n: {"m.yaml": model(n, 4), "p.yaml": platform(8)}, planned("contiguous")),
    Family("`compare` of eight planners, BERT-large", "microbatches", [16, 64, 256], lambda n: {},
           lambda n: ["compare", "--model", "bert-large", "--platform", "pipedream-cluster-a", "--microbatches", str(n),
                      "--planners", "data-parallel,uniform,gpipe,dapple,spp,pipedream-sync,dawnpiper,vpipe"]),
    Family("`run` of a study, plans of four stages evaluated", "cells", [50, 500, 1_500], study,
           lambda n: ["run", "s.yaml", "--workers", "1", "--out", "out"]),
]


def measure(program, words):
    """CPU seconds and MiB of a command with all its children; None if it fails or takes too long."""
    with open(os.devnull, "w") as nothing:
        child = subprocess.Popen([program, *words], stdout=nothing, stderr=nothing, stdin=subprocess.DEVNULL)
        watch = subprocess.Popen(["sh", "-c", f"sleep {TIMEOUT}; kill {child.pid}"], stdout=nothing, stderr=nothing)
        _, status, usage = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
        watch.kill()
        watch.wait()
    if child.returncode not in (0, 3):  # 3: out of memory
        return None
    return usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024


def in_turn(programs, words):
    """The least time and the largest memory of each program."""
    best = [None] * len(programs)
    for _ in range(RUNS):
        for i, program in enumerate(programs):
            subprocess.run(["rm", "-rf", "out", "t.json"], check=True)
            found = measure(program, words)
            if found and best[i]:
                found = min(found[0], best[i][0]), max(found[1], best[i][1])
            best[i] = found or best[i]
        if max((each[0] for each in best if each), default=LONG) >= LONG:
            break
    return best


def exponent(points):
    """The slope of the logarithm of the time over that of the size (least squares)."""
    points = [(math.log(size), math.log(max(time, 1e-3))) for size, time in points]
    if len(points) < 2:
        return "–"
    mean_x = sum(x for x, _ in points) / len(points)
    mean_y = sum(y for _, y in points) / len(points)
    return f"{sum((x - mean_x) * (y - mean_y) for x, y in points) / sum((x - mean_x) ** 2 for x, _ in points):.2f}"


def cells(found, others):
    time = f"{found[0]:.2f}" if found else "–"
    memory = f"{found[1]:.0f}" if found else "–"
    ratio = f"{found[0] / others[0]:.2f}" if found and others else "–"
    return time, memory, ratio


def table(family, programs):
    rows = []
    points = []
    for size in family.sizes:
        for name, parts in family.files(size).items():
            with open(name, "w") as file:
                file.writelines(parts)
        now, before = in_turn(programs, family.words(size))
        if now:
            points.append((size, now[0]))
        time, memory, ratio = cells(now, before)
        old_time, old_memory, _ = cells(before, None)
        rows.append(f"| {size:,} | {time} | {old_time} | {ratio} | {memory} | {old_memory} |")
        print(f"{family.name}: {rows[-1]}", file=sys.stderr, flush=True)
    head = [f"| {family.unit} | CPU s | before | ratio | MiB | before |", "|---|---|---|---|---|---|"]
    return [f"**{family.name[0].upper()}{family.name[1:]}** grows with the exponent {exponent(points)}.", "", *head, *rows, ""]


def main():
    now, before, page, name = sys.argv[1:]
    programs = [os.path.abspath(now), os.path.abspath(before)]
    page = pathlib.Path(page).resolve()
    begin, end = "<!-- costs -->\n", "<!-- / costs -->\n"
    text = page.read_text()
    lines = [f"*Before* is the commit `{name}`, both on a machine with {os.cpu_count()} processors.", ""]
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        for family in FAMILIES:
            lines += table(family, programs)
        os.chdir("/")
    page.write_text(text[:text.index(begin) + len(begin)] + "\n" + "\n".join(lines) + text[text.index(end):])


main()
