"""The profiler for PyTorch, and what the program makes of its files: profiler_test.py STAGECRAFT"""

import contextlib
import importlib.util
import io
import os
import re
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path
from unittest import mock

ROOT = Path(__file__).resolve().parents[2]
PROFILER = ROOT / "traces/profiler"
sys.path.insert(0, str(PROFILER))
import torch  # noqa: E402
from torch import nn  # noqa: E402

import example_models  # noqa: E402
import stagecraft_profiler  # noqa: E402
from stagecraft_profiler.clock import Clock, Times as TimesOf  # noqa: E402
from stagecraft_profiler.profiling import kind_of  # noqa: E402

STAGECRAFT = os.path.abspath(sys.argv.pop(1)) if __name__ == "__main__" else "stagecraft"
COMMAND = importlib.util.spec_from_file_location("profiler_command", PROFILER / "__main__.py")
FLOAT = 4


def measured(model, *shapes, sizes=(2, 4), **more):
    return stagecraft_profiler.profile(model, lambda batch: tuple(torch.randn(batch, *shape) for shape in shapes),
                                       sizes, repeat=2, warm_up=1, **more)


def words(batch):
    return (torch.randint(1000, (batch, 64)),)


def by_name(profile, size=0):
    return {layer.name: figures for layer, figures in zip(profile.layers, profile.sizes[size].figures)}


def kept(profile, size=0):
    """The layers that keep each tensor which a layer or the input (None) hands on."""
    return {tensor.source: tensor.kept_by for tensor in profile.sizes[size].tensors}


def numel(model):
    return sum(parameter.numel() for parameter in model.parameters())


class Branches(nn.Module):
    """Two inputs, a view, a tensor that two layers read, an in-place change and a function with two results."""

    def __init__(self):
        super().__init__()
        self.left, self.right = nn.Linear(6, 8), nn.Linear(5, 8)
        self.scale = nn.Parameter(torch.ones(8, 8))

    def forward(self, x, y, factor=None):
        both = self.left(x) if factor is None else self.left(x) * factor
        other = torch.tanh(self.right(y))
        first, second = other.chunk(2, dim=1)
        both += torch.cat([second, first], dim=1)
        largest = nn.functional.linear(both.sigmoid(), self.scale.t()).max(dim=1)
        return largest.values + other.sum(1)


class Router(nn.Module):
    def forward(self, x):
        if x.sum() > 0:
            return x * 2
        return x * 3


class Routed(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear, self.router = nn.Linear(4, 4), Router()

    def forward(self, x):
        return self.router(self.linear(x))


class Bytes(unittest.TestCase):
    def test_a_chain_to_the_byte(self):
        profile = measured(example_models.mlp(), (256,))
        self.assertEqual([layer.name for layer in profile.layers],
                         ["linear_0", "relu_1", "linear_2", "relu_3", "linear_4"])
        self.assertEqual([layer.parameters for layer in profile.layers],
                         [FLOAT * (256 * 1024 + 1024), 0, FLOAT * (1024 * 1024 + 1024), 0, FLOAT * (1024 * 10 + 10)])
        for size, batch in enumerate((2, 4)):
            figures = profile.sizes[size].figures
            # A linear layer keeps its input and a ReLU its result, which is one tensor with the next layer's input.
            self.assertEqual([each.stash for each in figures],
                             [batch * FLOAT * width for width in (256, 1024, 1024, 1024, 1024)])
            self.assertEqual([each.output for each in figures],
                             [batch * FLOAT * width for width in (1024, 1024, 1024, 1024, 10)])
            self.assertEqual(profile.sizes[size].input, batch * FLOAT * 256)
            self.assertEqual(profile.sizes[size].total().stash, batch * FLOAT * (256 + 2 * 1024))
            self.assertEqual(kept(profile, size), {None: ["linear_0"], "linear_0": [], "relu_1": ["relu_1", "linear_2"],
                                                   "linear_2": [], "relu_3": ["relu_3", "linear_4"]})

    def test_parameters_count_once(self):
        model = example_models.encoder()
        profile = stagecraft_profiler.profile(model, words, (2,), repeat=1, warm_up=0)
        self.assertEqual(profile.parameters(), FLOAT * numel(model))
        self.assertEqual([(tied.layers, tied.size) for tied in profile.tied],
                         [(("embedding", "head"), FLOAT * 1000 * 64)])
        self.assertIn("embedding and head", profile.summary())
        self.assertEqual(dict((layer.name, layer.parameters) for layer in profile.layers)["add"], FLOAT * 64 * 64)

    def test_what_layers_keep_is_what_autograd_keeps_of_the_whole_model(self):
        cases = [(example_models.residual_cnn(), lambda batch: (torch.randn(batch, 3, 32, 32),)),
                 (example_models.encoder(), words),
                 (Branches(), lambda batch: (torch.randn(batch, 6), torch.randn(batch, 5)))]
        for model, inputs_of in cases:
            profile = stagecraft_profiler.profile(model, inputs_of, (1, 2, 4), repeat=1, warm_up=0)
            self.assertEqual(profile.parameters(), FLOAT * numel(model))
            for size in profile.sizes:
                self.assertGreater(size.whole.stash, 0)
                self.assertEqual(size.total().stash, size.whole.stash)


class Graphs(unittest.TestCase):
    def test_edges_of_a_residual_network(self):
        profile = measured(example_models.residual_cnn(), (3, 32, 32))
        image = FLOAT * 16 * 32 * 32
        edges = profile.sizes[0].edges
        chain = ["conv2d_0"] + [name.replace("N", block) for block, add in (("1", "add"), ("2", "add_1")) for name in
                                ("N.conv1", "N.norm1", "N.relu", "N.conv2", "N.norm2", add, "N.relu_2")]
        chain += ["adaptiveavgpool2d_3", "linear_5"]  # to flatten is a view
        self.assertEqual([layer.name for layer in profile.layers], chain)
        self.assertEqual(set(edges), {*zip(chain, chain[1:]), ("conv2d_0", "add"), ("1.relu_2", "add_1")})
        self.assertEqual(edges["conv2d_0", "add"], 2 * image)
        # The sum and the ReLU work in place, so only the result of the ReLU is kept; a convolution keeps its input.
        self.assertEqual(kept(profile)["add"], [])
        self.assertEqual(kept(profile)["1.relu_2"], ["1.relu_2", "2.conv1"])
        self.assertEqual(by_name(profile)["1.conv1"].stash, 2 * image)
        self.assertEqual(by_name(profile)["1.norm1"].stash, 2 * image + 2 * FLOAT * 16)  # means and deviations

    def test_branches_views_and_changes_in_place(self):
        profile = measured(Branches(), (6,), (5,))
        self.assertEqual([layer.name for layer in profile.layers],
                         ["left", "right", "tanh", "cat", "add", "sigmoid", "linear", "max_1", "sum_1", "add_1"])
        row = 2 * FLOAT * 8
        self.assertEqual(profile.sizes[0].edges, {
            ("right", "tanh"): row, ("tanh", "cat"): row, ("left", "add"): row, ("cat", "add"): row,
            ("add", "sigmoid"): row, ("sigmoid", "linear"): row, ("linear", "max_1"): row, ("tanh", "sum_1"): row,
            ("max_1", "add_1"): 2 * FLOAT, ("sum_1", "add_1"): 2 * FLOAT})
        self.assertEqual(dict((layer.name, layer.parameters) for layer in profile.layers)["linear"], FLOAT * 8 * 8)
        self.assertEqual(by_name(profile)["max_1"].output, 2 * (FLOAT + 8))  # values, and positions of 8 bytes
        self.assertEqual(by_name(profile)["max_1"].stash, 2 * 8)

    def test_classes_can_be_operators(self):
        with self.assertRaises(stagecraft_profiler.ProfilerError) as caught:
            measured(Routed(), (4,))
        self.assertRegex(str(caught.exception), r"profiler_test\.py:\d+: if x\.sum\(\) > 0:")
        self.assertIn("--leaf Router", str(caught.exception))
        profile = measured(Routed(), (4,), leaves=("Router",))
        self.assertEqual([layer.name for layer in profile.layers], ["linear", "router"])


class Times(unittest.TestCase):
    def test_every_layer_takes_time(self):
        profile = measured(example_models.residual_cnn(), (3, 32, 32))
        self.assertEqual([size.batch for size in profile.sizes], [2, 4])
        for size in profile.sizes:
            for layer, figures in zip(profile.layers, size.figures):
                self.assertGreater(figures.times.forward, 0)
                self.assertGreater(figures.times.backward, 0)
                self.assertLessEqual(figures.times.backward_weight, figures.times.backward)
                if layer.parameters == 0:
                    self.assertEqual(figures.times.backward_weight, 0)
            first = size.figures[0].times  # no gradient of the network's input
            self.assertEqual(first.backward_weight, first.backward)
            self.assertAlmostEqual(size.total().times.forward, sum(each.times.forward for each in size.figures))
            self.assertGreater(size.whole.times.forward, 0)
            self.assertGreater(size.whole.times.backward, 0)

    def test_a_gpu_is_timed_by_events(self):
        """With events that count 3 ms from one to the next, in place of those of a driver."""
        calls = []

        class Event:
            def __init__(self, enable_timing):
                assert enable_timing

            def record(self):
                calls.append("record")
                self.at = 3 * calls.count("record")

            def elapsed_time(self, end):
                assert calls[-1] == "synchronize"
                return end.at - self.at

        linear, leaf = nn.Linear(2, 2), torch.ones(1, 2, requires_grad=True)
        with mock.patch("torch.cuda.Event", Event), \
                mock.patch("torch.cuda.synchronize", lambda device: calls.append("synchronize")):
            times = Clock(torch.device("cuda"), 2, 1).measure(lambda: ([leaf], leaf), linear, [*linear.parameters()])
        self.assertEqual(times, TimesOf(0.003, 0.003, 0.0))
        with mock.patch("torch.cuda.get_device_name", lambda device: "NVIDIA A100-SXM4-40GB"):
            self.assertEqual(kind_of(torch.device("cuda")), "A100-SXM4-40GB")

    def test_gradients_do_not_stay(self):
        model = example_models.mlp()
        measured(model, (256,))
        self.assertTrue(all(parameter.grad is None for parameter in model.parameters()))

    def test_what_is_frozen_has_no_backward(self):
        model = example_models.mlp()
        for parameter in model[0].parameters():
            parameter.requires_grad_(False)
        profile = measured(model, (256,))
        self.assertEqual([each.times.backward > 0 for each in profile.sizes[0].figures],
                         [False, False, True, True, True])
        self.assertEqual([each.stash for each in profile.sizes[0].figures[:2]], [0, 0])


class Commands(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="stagecraft-profiler-")
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def run_in_folder(self, *command):
        environment = {**os.environ, "PATH": os.path.dirname(STAGECRAFT) + os.pathsep + os.environ["PATH"]}
        done = subprocess.run(command, cwd=self.folder, env=environment, capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        return done.stdout

    def profiler(self, *arguments):
        """What the command prints; the page has it run by a shell."""
        command = importlib.util.module_from_spec(COMMAND)
        COMMAND.loader.exec_module(command)
        text = io.StringIO()
        with contextlib.redirect_stdout(text):
            command.main([*arguments, "--batch-sizes", "2,4", "--repeat", "1", "--warm-up", "0",
                          "-o", os.path.join(self.folder, "model.yaml")])
        return text.getvalue()

    def refused(self, main, *arguments):
        """What the command says when it refuses its input."""
        text = io.StringIO()
        with contextlib.redirect_stderr(text), self.assertRaises(SystemExit) as caught:
            main(*arguments)
        self.assertEqual(caught.exception.code, 2)
        self.assertTrue(text.getvalue().startswith("profiler: error: "), text.getvalue())
        return text.getvalue()

    def test_the_program_reads_and_plans_what_is_measured(self):
        for name, shape in (("mlp", "256"), ("residual_cnn", "3,32,32"), ("encoder", "64:1000")):
            self.assertIn(f"{name} on cpu in fp32", self.profiler(f"example_models:{name}", "--input", shape))
            described = self.run_in_folder(STAGECRAFT, "describe", "model.yaml")
            self.assertIn("timed on cpu (measured)", described)
            self.assertIn("microbatch sizes: 2, 4", described)
            planned = self.run_in_folder(STAGECRAFT, "plan", "--model", "model.yaml", "--platform", "dgx-a100",
                                         "--speed", "cpu=1", "--speed", "A100-SXM4-40GB=50", "--planner", "dawnpiper",
                                         "--set", "stages=4", "--microbatch-size", "4")
            self.assertIn("dawnpiper: ", planned)

    def test_refusals_say_what_to_do(self):
        for arguments, expected in (
                (("example_models:mlp", "--input", "3,x"), "expected a shape such as 3,224,224"),
                (("example_models:mpl", "--input", "256"), "has no attribute 'mpl'"),
                (("example_models", "--input", "256"), "expected MODULE:NAME"),
                (("example_models:mlp", "--input", "256", "--leaf", "Relu"), "but Linear, ReLU, Sequential"),
                (("example_models:mlp", "--input", "256", "--device", "tpu"), "the device is cpu, cuda or cuda:N"),
                (("example_models:mlp", "--inputs-of", "builtins:str"), "expected a tuple of the model's inputs"),
                (("example_models:mlp", "--input", "255"), "does not train at batch size 2: mat1 and mat2 shapes"),
                (("example_models:mlp", "--input", "256", "--device", "cuda:x"), "the device is cpu, cuda or cuda:N"),
                (("os:getcwd", "--input", "1"), "expected a model of torch.nn.Module, found str")):
            self.assertIn(expected, self.refused(self.profiler, *arguments))

    def test_an_output_that_cannot_be_written_is_refused_before_measuring(self):
        command = importlib.util.module_from_spec(COMMAND)
        COMMAND.loader.exec_module(command)
        nowhere = os.path.join(self.folder, "nowhere")
        for output, problem, is_measured in (
                (f"{nowhere}/model.yaml", f"there is no folder '{nowhere}' (make the folder first)", False),
                (self.folder, "it is a directory", False),
                (f"{self.folder}/model.yaml", "No space left on device", True)):
            full = mock.Mock(**{"write.side_effect": OSError(28, "No space left on device")})
            with mock.patch.object(command, "profile", return_value=full) as measuring:
                said = self.refused(command.main, ["example_models:mlp", "--input", "256", "-o", output])
            self.assertEqual(said, f"profiler: error: {output}: cannot be written: {problem}\n")
            self.assertEqual(measuring.called, is_measured)

    def refused_in_folder(self, *arguments):
        """What the command says on standard error, run in the folder."""
        done = subprocess.run([sys.executable, "-B", PROFILER, *arguments], cwd=self.folder, capture_output=True,
                              text=True, check=False)
        self.assertEqual(done.returncode, 2, done.stdout + done.stderr)
        return done.stderr

    def test_only_model_files_are_replaced(self):
        source = ('"""\nschema: stagecraft/model/1\n"""\nfrom torch import nn\n\n\n'
                  'def make():\n    return nn.Linear(4, 4)\n')
        Path(self.folder, "my_model.py").write_text(source, encoding="utf-8")
        for name, content, why in (
                ("my_model.py", source, "the command reads it (name another file)"),
                ("notes.txt", "a schema of stagecraft/model/1\n", "it exists and is no model file (name another file, "
                 "or remove this one)")):
            Path(self.folder, name).write_text(content, encoding="utf-8")
            self.assertEqual(self.refused_in_folder("my_model:make", "--input", "4", "-o", name),
                             f"profiler: error: {name}: cannot be written: {why}\n")
            self.assertEqual(Path(self.folder, name).read_text(encoding="utf-8"), content)
        profile = measured(nn.Linear(4, 4), (4,))
        with self.assertRaisesRegex(stagecraft_profiler.ProfilerError, "is no model file"):
            profile.write(os.path.join(self.folder, "notes.txt"))
        for old in ("", '{"model": "m",\n "schema": "stagecraft/model/1"}', "# mine\nschema: stagecraft/model/1\n"):
            Path(self.folder, "old").write_text(old, encoding="utf-8")
            profile.write(os.path.join(self.folder, "old"))
            self.assertEqual(Path(self.folder, "old").read_text(encoding="utf-8"), profile.text())

    def test_a_model_file_is_replaced_completely_or_not_at_all(self):
        profile, path = measured(nn.Linear(4, 4), (4,)), Path(self.folder, "model.yaml")
        link = Path(self.folder, "link.yaml")
        link.symlink_to("model.yaml")
        profile.write(link)
        self.assertTrue(link.is_symlink())
        before = path.read_text(encoding="utf-8")
        self.assertEqual(before, profile.text())
        with mock.patch.object(type(profile), "text", lambda _: "schema: \ud800"):  # fails while it is written
            with self.assertRaises(UnicodeEncodeError):
                profile.write(path)
        self.assertEqual(path.read_text(encoding="utf-8"), before)
        self.assertEqual(sorted(os.listdir(self.folder)), ["link.yaml", "model.yaml"])

    def test_what_the_users_code_raises_is_told(self):
        Path(self.folder, "bad.py").write_text("def make():\n    raise ValueError('no weights')\n\n\n"
                                               "def inputs(batch):\n    return {}[batch]\n", encoding="utf-8")
        Path(self.folder, "worse.py").write_text("1 / 0\n", encoding="utf-8")
        for arguments, problem in (
                (("bad:make", "--input", "4"), "bad:make: ValueError: no weights"),
                (("worse:make", "--input", "4"), "worse:make: ZeroDivisionError: division by zero"),
                (("torch.nn:Identity", "--inputs-of", "bad:inputs"), "bad:inputs: KeyError: 1"),
                (("torch.nn:Identity", "--input", "4:0"), "--input: RuntimeError: random_ expects")):
            said = self.refused_in_folder(*arguments, "-o", "model.yaml")
            self.assertTrue(said.startswith(f"profiler: error: {problem}"), said)
            self.assertNotIn("Traceback", said)
        self.assertFalse(Path(self.folder, "model.yaml").exists())

    def test_how_to_page(self):
        page = (ROOT / "docs/how-to/profile-your-own-model.md").read_text(encoding="utf-8")
        os.symlink(ROOT / "traces", os.path.join(self.folder, "traces"))
        blocks = re.findall(r"^```(\w+)(?: file=(\S+))?\n(.*?)^```", page, re.MULTILINE | re.DOTALL)
        ran = 0
        for kind, name, content in blocks:
            if name:
                Path(self.folder, name).write_text(content, encoding="utf-8")
            elif kind == "sh":
                for line in content.replace("\\\n", "").splitlines():
                    self.run_in_folder("sh", "-c", line.replace("python3", f"{sys.executable} -B", 1))
                    ran += 1
            else:
                Path(self.folder, "code.py").write_text(content, encoding="utf-8")
                self.run_in_folder("env", f"PYTHONPATH={PROFILER}", sys.executable, "-B", "code.py")
                ran += 1
        self.assertGreaterEqual(ran, 4)


if __name__ == "__main__":
    unittest.main()
