#!/usr/bin/env python3
"""A planner for Stagecraft: one device a stage, contiguous stages whose largest time is smallest.

Reads a request (stagecraft/request/1) on standard input and writes a plan to standard output. Needs nothing but Python 3.
Option: stages, the number of stages (default: as many as there are devices and layers).
"""

import json
import sys


def quantity(text):
    """The number of a quantity: times of a request are in seconds, sizes in bytes."""
    return float(str(text).split()[0])


def balanced_cuts(times, factors, fits):
    """The first layer of each stage, or None where no cut fits.

    best[s][j] is the least largest stage time of the first j layers on the first s devices:
    best[s][j] = min over i < j of max(best[s-1][i], factors[s-1] * sum(times[i:j])), where stage s fits.
    """
    count = len(times)
    prefix = [0.0]
    for time in times:
        prefix.append(prefix[-1] + time)
    infinity = float("inf")
    best = [0.0] + [infinity] * count
    cuts = []
    for stage, factor in enumerate(factors):
        longer = [infinity] * (count + 1)
        cut = [None] * (count + 1)
        for end in range(stage + 1, count + 1):
            for begin in range(end - 1, stage - 1, -1):
                time = factor * (prefix[end] - prefix[begin])
                if time >= longer[end]:
                    break
                if best[begin] < longer[end] and fits(stage, begin, end):
                    longer[end] = max(best[begin], time)
                    cut[end] = begin
        best = longer
        cuts.append(cut)
    if best[count] == infinity:
        return None, infinity
    firsts = []
    end = count
    for cut in reversed(cuts):
        end = cut[end]
        firsts.append(end)
    return firsts[::-1], best[count]


def plan(request):
    by_name = {layer["name"]: layer for layer in request["model"]["layers"]}
    layers = [by_name[name] for name in request["order"]]
    times = [quantity(layer["forward"]) + quantity(layer["backward"]) for layer in layers]
    devices = [device for device in request["devices"] if device["time_factor"] is not None]
    stages = request["options"].get("stages", min(len(devices), len(layers)))
    if not isinstance(stages, int) or not 1 <= stages <= min(len(devices), len(layers)):
        sys.exit(f"stages: expected a whole number from 1 to {min(len(devices), len(layers))}, found {stages}")
    devices = devices[:stages]
    training = request["training"]
    copies = 1 + training["gradient_copies"] + training["optimizer_copies"]
    parameters = [0.0]
    stash = [0.0]
    for layer in layers:
        parameters.append(parameters[-1] + quantity(layer["parameters"]))
        stash.append(stash[-1] + quantity(layer["stash"]))

    def memory(stage, begin, end):
        """Roughly what a stage of 1F1B keeps: it has as many microbatches in flight as stages follow it, with itself."""
        in_flight = min(stages - stage, request["microbatches"])
        kept = copies * (parameters[end] - parameters[begin]) + in_flight * (stash[end] - stash[begin])
        boundaries = (request["cut_bytes"][begin - 1] if begin > 0 else 0) + (
            request["cut_bytes"][end - 1] if end < len(layers) else 0)
        return kept + training["boundary_buffers"] * boundaries

    def fits(stage, begin, end):
        return memory(stage, begin, end) <= devices[stage]["usable_bytes"]

    firsts, largest = balanced_cuts(times, [device["time_factor"] for device in devices], fits)
    if firsts is None:
        return {"infeasible": {"reason": f"no cut into {stages} stages of one device each fits"}}
    ends = firsts[1:] + [len(layers)]
    return {
        "plan": {
            "schema": "stagecraft/plan/1",
            "microbatch_size": request["microbatch_size"],
            "microbatches": request["microbatches"],
            "schedule": request["schedule"] or {"name": "1f1b"},
            "stages": [
                {"layers": {"from": request["order"][first], "to": request["order"][end - 1]}, "devices": [device["name"]]}
                for first, end, device in zip(firsts, ends, devices)
            ],
            "predicted": {"iteration_time": f"{(request['microbatches'] + stages - 1) * largest!r} s"},
        },
        "details": {"stage_time_s": largest},
    }


if __name__ == "__main__":
    json.dump(plan(json.load(sys.stdin)), sys.stdout)
