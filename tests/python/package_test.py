"""The Python package, which runs the built program: `package_test.py PROGRAM`."""

import contextlib
import doctest
import inspect
import json
import os
import pickle
import signal
import subprocess
import sys
import tempfile
import threading
import time
import typing
import unittest
from dataclasses import FrozenInstanceError, replace
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PROGRAM = sys.argv.pop() if len(sys.argv) > 1 and not sys.argv[-1].startswith("-") else str(
    ROOT / "build" / "release" / "stagecraft")
PROGRAM = os.path.abspath(PROGRAM)
os.environ["STAGECRAFT"] = PROGRAM
os.environ["STAGECRAFT_DATA"] = str(ROOT)
sys.path.insert(0, str(ROOT / "python"))
import stagecraft as sc  # noqa: E402
from stagecraft import _helper, types  # noqa: E402

MODEL = {"schema": "stagecraft/model/1", "model": "toy", "device": "K", "microbatch_size": 1, "input": 0,
         "layers": [{"name": f"l{i}", "forward": f"{i} ms", "backward": f"{2 * i} ms", "parameters": "1 MB",
                     "output": "1 MB", "stash": "2 MB"} for i in (1, 2, 3, 4)]}
PLATFORM = {"schema": "stagecraft/platform/1", "platform": "pair", "device_kinds": {"K": {"memory": "1 GiB"}},
            "node_kinds": {"node": {"devices": {"count": 2, "kind": "K"},
                                    "interconnect": {"type": "switch", "bandwidth": "1 GBps", "latency": "1 us"}}},
            "nodes": [{"kind": "node", "count": 1}]}


def halves(request):
    """Half of the layers on each of two devices."""
    middle = len(request.order) // 2
    parts = (request.order[:middle], request.order[middle:])
    stages = tuple(sc.Stage(layers=layers, devices=(device.name,)) for layers, device in zip(parts, request.devices))
    return sc.Plan(microbatch_size=request.microbatch_size, microbatches=request.microbatches,
                   schedule=request.schedule or {"name": "1f1b"}, stages=stages)


def typed(*words, **files):
    """What the command line answers to the same, a dict."""
    with tempfile.TemporaryDirectory() as folder:
        for name, document in files.items():
            Path(folder, name + ".json").write_text(json.dumps(document))
        run = subprocess.run([PROGRAM, *words, "--json"], cwd=folder, capture_output=True, text=True)
    return json.loads(run.stdout)


def without_times(document):
    return {key: value for key, value in document.items() if key not in ("wall_time_s", "planning_time_s")}


class Package(unittest.TestCase):
    def test_figures_are_those_of_the_command_line_to_the_last_bit(self):
        planning = sc.plan("vgg16", "dgx-1-v100", "gpipe", microbatches=16)
        run = sc.simulate(planning)
        answer = typed("simulate", "plan.json", plan=planning.plan.to_json())
        self.assertEqual(without_times(run.to_json()), without_times(types.Simulation.from_json(answer).to_json()))
        self.assertEqual(run.iteration_time_s, answer["iteration_time_s"])
        self.assertEqual(planning.plan.to_json()["stages"], typed(
            "plan", "--model", "vgg16", "--platform", "dgx-1-v100", "--planner", "gpipe", "--microbatches", "16")
            ["plan"]["stages"])

    def test_values_become_the_documents_that_they_come_from(self):
        for kind, document in ((types.Model, MODEL), (types.Platform, PLATFORM)):
            value = kind.from_json(document)
            self.assertEqual(kind.from_json(value.to_json()), value)
        model = types.Model.from_json(MODEL)
        self.assertEqual(model.layers[0].forward_s, 1e-3)
        self.assertEqual(model.layers[0].parameters_bytes, 10**6)
        with self.assertRaises(FrozenInstanceError):
            model.model = "other"
        with self.assertRaisesRegex(sc.Error, "no key 'colour'"):
            types.Model.from_json({**MODEL, "colour": "red"})

    def test_equal_values_have_equal_hashes(self):
        planning = sc.plan("vgg16", "dgx-1-v100", "uniform", schedule={"name": "1f1b-star", "release": "asap"})
        plan = planning.plan
        schedule = dict(reversed(plan.schedule.items()))
        same = replace(types.Plan.from_json(plan.to_json()), schedule=schedule, microbatches=float(plan.microbatches))
        self.assertEqual({plan: "kept"}[same], "kept")
        self.assertNotIn(replace(plan, microbatches=plan.microbatches + 1), {plan})
        self.assertEqual(hash(planning), hash(types.Planning.from_json(planning.to_json())))
        self.assertEqual(len({types.Model.from_json(MODEL), types.Model.from_json(MODEL)}), 1)

    def test_models_and_platforms_may_be_values_and_documents(self):
        model = types.Model.from_json(MODEL)
        one = sc.plan(model, PLATFORM, "uniform", microbatches=4)
        self.assertEqual(one.plan.stages, sc.plan(MODEL, types.Platform.from_json(PLATFORM), "uniform",
                                                  microbatches=4).plan.stages)
        faster = replace(model, layers=tuple(replace(each, forward_s=each.forward_s / 2) for each in model.layers))
        self.assertLess(sc.plan(faster, PLATFORM, "uniform", microbatches=4).evaluated.iteration_time_s,
                        one.evaluated.iteration_time_s)
        self.assertEqual(sc.simulate(one).outcome, "ok")  # with the documents that it was made for

    def test_a_function_is_a_planner(self):
        planning = sc.plan(MODEL, PLATFORM, halves, microbatches=4)
        self.assertEqual(planning.planner, "call:halves")
        self.assertEqual(planning.stages[1].layers, ("l3", "l4"))
        rows = sc.compare(MODEL, PLATFORM, ["uniform", halves], microbatches=4).models[0].rows
        self.assertEqual({row.planner for row in rows}, {"uniform", "call:halves"})

        def none(request):
            return sc.Infeasible("nothing fits", hint="buy more")

        answer = sc.plan(MODEL, PLATFORM, none, microbatches=4)
        self.assertEqual((answer.outcome, answer.reason, answer.hint), ("infeasible", "nothing fits", "buy more"))
        with self.assertRaisesRegex(sc.Error, "there is no plan: nothing fits"):
            sc.simulate(answer)

    def test_a_planner_may_ask_for_evaluations(self):
        tried = []

        def best(request):
            with sc.Evaluator(request.model, request.platform) as evaluator:
                whole = halves(request)
                layers = request.order
                for middle in range(1, len(layers)):
                    stages = tuple(replace(stage, layers=part) for stage, part in zip(
                        whole.stages, (layers[:middle], layers[middle:])))
                    plan = replace(whole, stages=stages)
                    tried.append((evaluator.evaluate(plan).iteration_time_s, middle, plan))
            return min(tried)[2]

        planning = sc.plan(MODEL, PLATFORM, best, microbatches=8)
        self.assertEqual(planning.evaluated.iteration_time_s, min(tried)[0])
        self.assertEqual(min(tried)[1], 3)

    def test_what_a_planner_raises_comes_out(self):
        def broken(request):
            raise KeyError("oops")

        for call in (lambda: sc.plan(MODEL, PLATFORM, broken), lambda: sc.compare(MODEL, PLATFORM, [broken])):
            with self.assertRaisesRegex(KeyError, "oops"):
                call()
        with self.assertRaisesRegex(sc.Error, "answer of call:number"):
            def number(request):
                return 7
            sc.plan(MODEL, PLATFORM, number)

    def test_numbers_of_other_libraries_are_numbers(self):
        class Real:
            def __float__(self):
                return 1e-3

        class Whole:
            def __index__(self):
                return 4

        layers = tuple(types.Layer(name=f"l{i}", forward_s=Real(), backward_s=Real(), parameters_bytes=Whole(),
                                   output_bytes=Whole()) for i in range(4))
        model = types.Model(model="toy", device="K", microbatch_size=1, layers=layers)
        planning = sc.plan(model, PLATFORM, halves, microbatches=Whole(), speed={"K": Real()})
        self.assertEqual(planning.plan.microbatches, 4)
        with self.assertRaisesRegex(sc.Error, "expected a JSON value, found <object"):
            sc.plan(object(), PLATFORM, halves)

    def test_what_is_no_value_of_an_option_is_refused(self):
        for options in ({"microbatches": True}, {"microbatches": []}, {"output": ""}, {"schedule": {}},
                        {"global_batch": ""}):
            with self.assertRaisesRegex(sc.Error, "needs a value"):
                sc.plan(MODEL, PLATFORM, "uniform", **options, memory="keep")
        for planner in (5, None, object(), ""):
            with self.assertRaises(sc.Error):
                sc.plan(MODEL, PLATFORM, planner)
        with self.assertRaisesRegex(sc.Error, "there is no such function"):
            sc.plan(MODEL, PLATFORM, "call:other")
        with self.assertRaisesRegex(sc.Error, "the planner returned None"):
            sc.plan(MODEL, PLATFORM, lambda request: None)

    def test_a_planning_remembers_what_it_was_made_for(self):
        platform = json.loads(json.dumps(PLATFORM))
        planning = sc.plan(MODEL, platform, halves, microbatches=4,
                           set={"platform.node_kinds.node.interconnect.bandwidth": "1 MBps"})
        platform["node_kinds"]["node"]["interconnect"]["bandwidth"] = "2 MBps"
        self.assertEqual(sc.evaluate(planning).iteration_time_s, planning.evaluated.iteration_time_s)
        self.assertEqual(sc.evaluate(planning).remarks, ())

    def test_an_evaluator_computes_figures_as_the_plan_says(self):
        planning = sc.plan("llama3-8b", "dgx-h100", "uniform", microbatches=16, precision="fp8", sequence=1024)
        other = sc.plan("llama3-8b", "dgx-h100", "uniform", microbatches=16, granularity="block")
        with sc.Evaluator("llama3-8b", "dgx-h100") as evaluator:
            for each in (planning, other, planning):
                self.assertEqual(evaluator.evaluate(each).iteration_time_s, sc.evaluate(each).iteration_time_s)

    def test_options_that_are_true_or_false(self):
        found = [sc.plan("llama3-8b", "dgx-h100", "uniform", microbatches=16, tensor=4, sequence_parallel=each)
                 for each in (True, False)]
        self.assertEqual([planning.plan.groups.sequence for planning in found], [True, False])

    def test_warnings_are_those_of_python(self):
        planning = sc.plan(MODEL, PLATFORM, halves, microbatches=4)
        with self.assertWarnsRegex(UserWarning, "made for another platform file") as caught:
            sc.simulate(planning, platform={**PLATFORM, "device_kinds": {"K": {"memory": "2 GiB"}}})
        self.assertEqual(Path(caught.filename).name, Path(__file__).name)

    def test_quantities_are_the_numbers_that_the_program_reads(self):
        for text, value in (("5 us", 5e-6), ("14.859 ms", 0.014859), ("1e-3 s", 1e-3), ("2 min", 120.0), ("1 h", 3600),
                            ("0.1ns", 1e-10), ("0", 0)):
            self.assertEqual(types.Layer.from_json({"name": "a", "forward": text}).forward_s, value)
        for text, value in (("16 GiB", 2**34), ("1.5 kB", 1500), ("8 b", 1), ("1 PB", 10**15), ("1e3 MB", 10**9)):
            self.assertEqual(types.Layer.from_json({"name": "a", "output": text}).output_bytes, value)
        for text in ("5", "1 parsec", "-5 ms", ".5 ms", " 5 ms", "1e400 s", "5 MB"):  # the program refuses these
            layer = {**MODEL["layers"][0], "forward": text}
            self.assertEqual(types.Layer.from_json(layer).forward_s, text)
            with self.assertRaisesRegex(sc.Error, "layers.0..forward: "):
                sc.plan(types.Model.from_json({**MODEL, "layers": [layer]}), PLATFORM, "uniform")
        with self.assertRaisesRegex(sc.Error, "expected a quantity with its unit, found 5"):
            types.Layer.from_json({"name": "a", "forward": 5})

    def test_files_are_the_same_after_python(self):
        asked = []
        for model, platform in (("t5-large", "dgx-a100"), ("gnmt-16", "rtx2080ti-4x4")):
            sc.plan(model, platform, lambda request: asked.append(request) or sc.Infeasible("only asked"))
            by_document = sc.plan(asked[-1].model, asked[-1].platform, "gpipe", set={"stages": 4})
            by_value = sc.plan(types.Model.from_json(asked[-1].model), types.Platform.from_json(asked[-1].platform),
                               "gpipe", set={"stages": 4})
            self.assertEqual(by_value.evaluated, by_document.evaluated)

    def test_an_evaluator_serves_threads_and_forked_children(self):
        evaluator = sc.Evaluator(MODEL, PLATFORM)
        plans = [sc.plan(MODEL, PLATFORM, halves, microbatches=n).plan for n in range(2, 10)]
        expected = [evaluator.evaluate(plan) for plan in plans]
        self.assertEqual(len({found.iteration_time_s for found in expected}), len(plans))
        found = [None] * len(plans)

        def work(i):
            for _ in range(50):
                found[i] = evaluator.evaluate(plans[i])

        threads = [threading.Thread(target=work, args=(i,)) for i in range(len(plans))]
        for thread in threads:
            thread.start()
        child = os.fork()
        if child == 0:
            mine = sc.Evaluator(MODEL, PLATFORM).evaluate(plans[0])
            os._exit(0 if mine == expected[0] else 1)
        for thread in threads:
            thread.join()
        self.assertEqual(found, expected)
        self.assertEqual(os.waitpid(child, 0)[1], 0)
        child = os.fork()
        if child == 0:
            os._exit(0 if [evaluator.evaluate(plan) for plan in plans] == expected else 1)
        self.assertEqual([evaluator.evaluate(plan) for plan in plans], expected)
        self.assertEqual(os.waitpid(child, 0)[1], 0)
        evaluator.close()
        with self.assertRaisesRegex(sc.Error, "the evaluator is closed"):
            evaluator.evaluate(plans[0])

    def test_errors_have_the_words_and_places_of_the_command_line(self):
        with self.assertRaises(sc.Error) as caught:
            sc.plan({**MODEL, "layers": [{**MODEL["layers"][0], "forward": "1 parsec"}]}, PLATFORM, "uniform")
        error = caught.exception
        self.assertEqual((error.code, error.file), (2, "<model>"))
        self.assertGreater(error.line, 1)
        self.assertGreater(error.column, 1)
        self.assertIn("parsec", str(error))
        with self.assertRaises(sc.Error) as caught:
            sc.plan("vgg61", "dgx-1-v100", "uniform")
        typed_error = typed("plan", "--model", "vgg61", "--platform", "dgx-1-v100", "--planner", "uniform")["error"]
        self.assertEqual(caught.exception.message, typed_error["message"])
        self.assertEqual(caught.exception.hint, typed_error["hint"])
        self.assertEqual(str(pickle.loads(pickle.dumps(caught.exception))), str(caught.exception))
        with self.assertRaisesRegex(sc.Error, "unknown option '--colour'"):
            sc.plan("vgg16", "dgx-1-v100", "uniform", colour="red")

    def test_options_are_in_the_signatures(self):
        for function, command in ((sc.plan, "plan"), (sc.bounds, "simulate"), (sc.study, "run")):
            told = {each["name"].strip("-").replace("-", "_") for each in typed("help", command)["options"]}
            shown = inspect.signature(function).parameters
            self.assertLessEqual(told - {"help", "json"}, shown.keys())
            self.assertNotIn(inspect.Parameter.VAR_KEYWORD, [each.kind for each in shown.values()])
            self.assertTrue(typing.get_type_hints(function)["return"])
        self.assertIn("microbatches: microbatches in an iteration", sc.plan.__doc__)
        with self.assertRaisesRegex(sc.Error, "unknown option '--microbatchs' .did you mean '--microbatches'"):
            sc.plan("vgg16", "dgx-1-v100", "uniform", microbatchs=4)

    def test_options_are_those_of_the_command_line(self):
        planning = sc.plan(MODEL, PLATFORM, "uniform", microbatches=4, schedule={"name": "gpipe"}, memory="keep",
                           set={"uniform.replicas": 1, "platform.device_kinds.K.memory": "2 GiB"},
                           training={"zero": 0, "boundary_buffers": 3}, speed={"K": 0.5}, despite_memory=True)
        self.assertEqual(planning.plan.schedule, {"name": "gpipe"})
        self.assertEqual(planning.plan.training.boundary_buffers, 3)
        self.assertEqual(len(sc.simulate(planning, iterations=3).iterations_s), 3)

    def test_evaluations_are_those_of_simulate(self):
        with sc.Evaluator("vgg16", "dgx-1-v100") as evaluator:
            plans = [sc.plan("vgg16", "dgx-1-v100", planner) for planner in ("gpipe", "pipedream", "uniform")]
            for planning, found in zip(plans, evaluator.evaluate_all(plans)):
                run = sc.evaluate(planning)
                self.assertEqual(found.iteration_time_s, run.iteration_time_s)
                self.assertEqual(found.period_s, run.period_s)
                self.assertEqual(found.throughput_samples_per_s, run.throughput_samples_per_s)
                self.assertEqual(found.peak_memory_bytes,
                                 {device.name: device.peak_memory_bytes for device in run.devices})
            stages = plans[0].plan.stages
            bad = replace(plans[0].plan, stages=(*stages[:-1], replace(stages[-1], layers=stages[-1].layers[:-1])))
            with self.assertRaisesRegex(sc.Error, "^<plan>: the plan breaks a rule: .*stagecraft check"):
                evaluator.evaluate(bad)
            self.assertEqual(evaluator.evaluate(plans[0]).outcome, "ok")  # it goes on after an error

    def test_bounds_lie_below_the_run(self):
        planning = sc.plan("vgg16", "dgx-1-v100", "gpipe")
        found = sc.bounds(planning)
        self.assertLessEqual(found.bound_s, sc.simulate(planning).iteration_time_s)
        self.assertGreaterEqual(found.over_bound, 1.0)

    def test_a_run_draws_itself(self):
        run = sc.simulate(sc.plan(MODEL, PLATFORM, halves, microbatches=4))
        self.assertTrue(run.picture()._repr_svg_().startswith("<svg"))
        self.assertIn("<iframe srcdoc=", run.page()._repr_html_())
        with tempfile.TemporaryDirectory() as folder:
            run.picture().save(Path(folder, "run.svg"))
            self.assertEqual(Path(folder, "run.svg").read_text(), run.picture())
        self.assertIn("iteration time", str(run))

    def test_other_commands(self):
        self.assertEqual(sc.check(sc.plan(MODEL, PLATFORM, halves, microbatches=4))["outcome"], "ok")
        largest = sc.max_batch(MODEL, PLATFORM, "uniform", microbatches=4)
        self.assertIsInstance(largest, types.LargestSize)
        self.assertGreater(largest.microbatch_size, 1)
        planners = {"schema": "stagecraft/study/1", "study": "planners",
                    "base": {"model": "vgg16", "platform": "dgx-1-v100"},
                    "matrix": {"planner": ["uniform", "gpipe", "data-parallel"]}}
        self.assertEqual([row["planner"] for row in sc.study(planners).rows], ["uniform", "gpipe", "data-parallel"])
        some = sc.study(planners, filter=["planner=uniform", "planner=gpipe"])
        self.assertEqual([row["planner"] for row in some.rows], ["uniform", "gpipe"])

    def test_a_study_of_values(self):
        model = types.Model.from_json(MODEL)
        slower = replace(model, model="slower", layers=tuple(replace(each, forward_s=1.0) for each in model.layers))
        events = {"schema": "stagecraft/events/1", "events": [{"at": "0 s", "device": "gpu0", "slowdown": 2}]}
        study = {"schema": "stagecraft/study/1", "study": "values",
                 "base": {"platform": types.Platform.from_json(PLATFORM), "planner": "uniform", "microbatches": 4},
                 "matrix": {"model": [model, slower, "vgg16"]}, "include": [{"model": model, "events": events}]}
        with tempfile.TemporaryDirectory() as folder:
            rows = sc.study(study, out=folder, filter="model=<toy>").rows
            self.assertEqual([(row["model"], row["platform"]) for row in rows], [("<toy>", "<pair>")] * 2)
            planning = sc.plan(model, PLATFORM, "uniform", microbatches=4)
            times = [sc.simulate(planning, **more).iteration_time_s for more in ({}, {"events": events})]
            self.assertEqual([row["iteration_time_s"] for row in rows], times)
            self.assertLess(*times)
            again = sc.study(study, out=folder, resume=True)
            self.assertEqual([row["model"] for row in again.rows], ["<toy>", "<slower>", "vgg16", "<toy>"])
            self.assertEqual(sc.results.read(folder).rows, again.rows)
            with self.assertRaisesRegex(sc.Error, "the folder contains results of another study"):
                sc.study({**study, "matrix": {"model": [{**MODEL, "input": 1}]}}, out=folder, resume=True)

    def test_eight_threads(self):
        expected = sc.simulate(sc.plan("vgg16", "dgx-1-v100", "gpipe")).iteration_time_s
        found = []

        def work():
            for _ in range(3):
                found.append(sc.simulate(sc.plan("vgg16", "dgx-1-v100", "gpipe")).iteration_time_s)

        threads = [threading.Thread(target=work) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(found, [expected] * 24)

    def test_no_more_helpers_wait_than_there_are_processors(self):
        _helper._pool.end()
        with contextlib.ExitStack() as calls:
            helpers = [calls.enter_context(_helper._pool.helper()) for _ in range(os.cpu_count() + 1)]
        self.assertEqual(len(_helper._pool._idle), os.cpu_count())
        self.assertEqual([each.is_alive() for each in helpers], [True] * os.cpu_count() + [False])

    def test_an_interrupt_ends_the_call_and_its_helper(self):
        script = ("import sys; sys.path.insert(0, sys.argv[1]); import stagecraft as sc\n"
                  "def slow(request):\n"
                  "    print('asked', flush=True)\n"
                  "    import time; time.sleep(60)\n"
                  "try: sc.plan('vgg16', 'dgx-1-v100', slow)\n"
                  "except KeyboardInterrupt: print('interrupted', sc.plan('vgg16', 'dgx-1-v100', 'gpipe').outcome)\n")
        with subprocess.Popen([sys.executable, "-c", script, str(ROOT / "python")], stdout=subprocess.PIPE,
                              text=True) as child:
            self.assertEqual(child.stdout.readline(), "asked\n")
            child.send_signal(signal.SIGINT)
            self.assertEqual(child.stdout.readline(), "interrupted planned\n")

    def test_a_forked_child_has_helpers_of_its_own(self):
        sc.plan(MODEL, PLATFORM, halves, microbatches=4)
        child = os.fork()
        if child == 0:
            os._exit(0 if not _helper._pool._idle and sc.plan(MODEL, PLATFORM, halves, microbatches=4).plan else 1)
        self.assertEqual(os.waitpid(child, 0)[1], 0)
        self.assertIsNotNone(sc.plan(MODEL, PLATFORM, halves, microbatches=4).plan)

    def test_a_helper_that_is_gone_is_replaced(self):
        sc.plan(MODEL, PLATFORM, halves, microbatches=4)
        for helper in _helper._pool._idle:
            os.kill(helper.pid, signal.SIGKILL)
            while helper.is_alive():
                pass
        self.assertIsNotNone(sc.plan(MODEL, PLATFORM, halves, microbatches=4).plan)

    def test_paths_start_at_the_working_folder_of_the_call(self):
        self.addCleanup(os.chdir, os.getcwd())
        for layers in (4, 2):
            with tempfile.TemporaryDirectory() as folder:
                os.chdir(folder)
                Path("toy.json").write_text(json.dumps({**MODEL, "layers": MODEL["layers"][:layers]}))
                planning = sc.plan("toy.json", PLATFORM, halves, microbatches=4)
                self.assertEqual(sum(len(stage.layers) for stage in planning.stages), layers)
                os.chdir(ROOT)

    def test_a_planning_of_a_function_can_be_pickled(self):
        planning = pickle.loads(pickle.dumps(sc.plan(MODEL, PLATFORM, lambda request: halves(request), microbatches=4)))
        self.assertEqual(sc.simulate(planning).outcome, "ok")

    def test_a_path_is_no_option(self):
        with self.assertRaises(sc.Error) as caught:
            sc.simulate("--nothing.yaml")
        self.assertEqual(caught.exception.file, "./--nothing.yaml")
        with self.assertRaisesRegex(sc.Error, "expected text in UTF-8"):
            sc.simulate("\udce9.yaml")

    def test_a_helper_ends_with_its_parent(self):
        script = ("import sys; sys.path.insert(0, sys.argv[1]); import stagecraft as sc\n"
                  "from stagecraft import _helper\n"
                  "def slow(request):\n"
                  "    import os, signal\n"
                  "    os.kill(os.getpid(), signal.SIGKILL)\n"
                  "helper = _helper.Helper(); print(helper.pid, flush=True)\n"
                  "words = 'plan --model vgg16 --platform dgx-1-v100 --planner call:slow'.split()\n"
                  "helper.call({'command': words}, {'slow': slow})\n")
        run = subprocess.run([sys.executable, "-c", script, str(ROOT / "python")], capture_output=True, text=True)
        self.assertEqual(run.returncode, -signal.SIGKILL)
        deadline = time.monotonic() + 30
        while Path("/proc", run.stdout.strip()).exists():
            self.assertLess(time.monotonic(), deadline)
            time.sleep(0.05)

    def test_a_program_that_is_not_there(self):
        script = "import sys; sys.path.insert(0, sys.argv[1]); import stagecraft as sc; sc.plan('a', 'b', 'c')"
        for path, words in (("/nowhere/stagecraft", "/nowhere/stagecraft cannot be started: No such file"),
                            ("/bin/true", "has died or does not answer")):
            run = subprocess.run([sys.executable, "-c", script, str(ROOT / "python")], capture_output=True, text=True,
                                 env={**os.environ, "STAGECRAFT": path})
            self.assertIn(words, run.stderr)

    def test_importing_needs_nothing_else(self):
        script = ("import sys; sys.path.insert(0, sys.argv[1]); import stagecraft\n"
                  "print([name for name in ('numpy', 'pandas') if name in sys.modules])")
        run = subprocess.run([sys.executable, "-c", script, str(ROOT / "python")], capture_output=True, text=True)
        self.assertEqual(run.stdout, "[]\n")


class Schemas(unittest.TestCase):
    def test_the_classes_are_those_of_the_schemas(self):
        run = subprocess.run([sys.executable, str(ROOT / "python" / "make_types.py"), "--check"], capture_output=True,
                             text=True)
        self.assertEqual(run.returncode, 0, run.stderr + "; python3 python/make_types.py writes them")


class Functions(unittest.TestCase):
    def test_the_functions_have_the_options_of_the_program(self):
        run = subprocess.run([sys.executable, str(ROOT / "python" / "make_functions.py"), PROGRAM, "--check"],
                             capture_output=True, text=True)
        self.assertEqual(run.returncode, 0, run.stderr + "; python3 python/make_functions.py PROGRAM writes them")


class Outputs(doctest.OutputChecker):
    """Keeps what the examples print."""

    def __init__(self):
        self.found = []

    def check_output(self, want, got, flags):
        self.found.append(got)
        return True


def with_outputs(block, names):
    """The lines of a block of examples, with what they print. Later blocks know the names of those before."""
    outputs = Outputs()
    test = doctest.DocTestParser().get_doctest(block, names, "the page", None, 0)
    failed = []
    doctest.DocTestRunner(checker=outputs).run(test, out=failed.append, clear_globs=False)
    names.update(test.globs)
    if failed:
        raise AssertionError("".join(failed))
    lines = block.split("\n")
    text = ""
    for example, found in zip(test.examples, outputs.found):
        source = lines[example.lineno:example.lineno + example.source.count("\n")]
        text += "\n".join(source) + "\n" + found
    return text


class Page(unittest.TestCase):
    def test_the_page_shows_what_python_prints(self):
        path = ROOT / "docs" / "how-to" / "use-stagecraft-in-python.md"
        parts = path.read_text(encoding="utf-8").split("```")
        names = {}
        with tempfile.TemporaryDirectory() as folder:
            self.addCleanup(os.chdir, os.getcwd())
            os.chdir(folder)
            for i, part in enumerate(parts):
                kind, _, content = part.partition("\n")
                if kind.startswith("text file="):
                    file = Path(kind.removeprefix("text file="))
                    file.parent.mkdir(exist_ok=True)
                    file.write_text(content, encoding="utf-8")
                elif kind == "python":
                    parts[i] = "python\n" + with_outputs(content, names)
            page = "```".join(parts)
            os.chdir(ROOT)
        if os.environ.get("STAGECRAFT_UPDATE"):
            path.write_text(page, encoding="utf-8")
        self.assertEqual(path.read_text(encoding="utf-8"), page)


if __name__ == "__main__":
    unittest.main()
