"""The Python package, which runs the built program: `package_test.py PROGRAM`."""

import doctest
import json
import os
import pickle
import signal
import subprocess
import sys
import tempfile
import threading
import time
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
        with self.assertRaisesRegex(ValueError, "no key 'colour'"):
            types.Model.from_json({**MODEL, "colour": "red"})

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
            with self.assertRaisesRegex(sc.Error, "the plan breaks a rule"):
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
        study = sc.study({"schema": "stagecraft/study/1", "study": "two",
                          "base": {"model": "vgg16", "platform": "dgx-1-v100"},
                          "matrix": {"planner": ["uniform", "gpipe"]}})
        self.assertEqual([row["planner"] for row in study.rows], ["uniform", "gpipe"])

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
                            ("/bin/true", "the helper process died")):
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
