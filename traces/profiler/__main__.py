"""The command line: python3 traces/profiler MODULE:FACTORY --input 3,224,224 -o model.yaml"""

import argparse
import importlib
import os
import sys

_BAD_INPUT = 2  # the exit code


def fail(problem):
    print(f"profiler: error: {problem}", file=sys.stderr)
    sys.exit(_BAD_INPUT)


try:
    import torch
except ImportError:
    fail("PyTorch is missing (Debian: apt install python3-torch)")

from stagecraft_profiler import ProfilerError, profile
from stagecraft_profiler.model_file import refuse_overwriting
from stagecraft_profiler.profiling import PRECISIONS


def parsed(arguments):
    parser = argparse.ArgumentParser(
        prog="profiler", description="Measures a PyTorch model operator by operator and writes a model file.")
    parser.add_argument("model", metavar="MODULE:FACTORY", help="a function or class that, called without arguments, "
                        "makes the model, in a module that Python finds from here")
    inputs = parser.add_mutually_exclusive_group(required=True)
    inputs.add_argument("--input", action="append", metavar="SHAPE[:N]", help="an input of one sample, such as "
                        "3,224,224, of real numbers or, with :N, of whole numbers below N; once for each input")
    inputs.add_argument("--inputs-of", metavar="MODULE:FUNCTION", help="a function of the batch size that returns "
                        "the tuple of inputs")
    parser.add_argument("--batch-sizes", type=whole_numbers, default=(1, 2, 4, 8), metavar="N,...", help="(1,2,4,8)")
    parser.add_argument("--device", default="cpu", metavar="D", help="cpu, cuda or cuda:N (cpu)")
    parser.add_argument("--device-kind", metavar="KIND", help="the device in the file, such as A100-SXM4-40GB (the "
                        "name that its driver gives it)")
    parser.add_argument("--precision", choices=PRECISIONS, default="fp32", help="(fp32)")
    parser.add_argument("--repeat", type=int, default=10, metavar="N", help="runs of which medians are taken (10)")
    parser.add_argument("--warm-up", type=int, default=3, metavar="N", help="runs before them (3)")
    parser.add_argument("--leaf", action="append", default=[], metavar="CLASS", help="measure each module of this "
                        "class as one operator; may be repeated")
    parser.add_argument("--name", help="the model's name in the file (FACTORY)")
    parser.add_argument("-o", "--output", required=True, metavar="FILE", help="the model file")
    return parser.parse_args(arguments)


def whole_numbers(text):
    return [int(number) for number in text.split(",")]


def found(where):
    """What MODULE:NAME names."""
    module, colon, name = where.partition(":")
    if not colon:
        raise ProfilerError(f"expected MODULE:NAME, found {where!r}")
    value = called(where, importlib.import_module, module)
    for part in name.split("."):
        value = called(where, getattr, value, part)
    return value


def called(where, function, *arguments):
    """What a function returns. What it raises becomes an error of that place: the user's code raises what it likes."""
    try:
        return function(*arguments)
    except Exception as problem:
        raise ProfilerError(f"{where}: {type(problem).__name__}: {problem}") from problem


def sample_maker(texts):
    """A function of the batch size that makes inputs of these shapes."""
    shapes = []
    for text in texts:
        shape, _, below = text.partition(":")
        try:
            shapes.append((tuple(whole_numbers(shape)) if shape else (), int(below) if below else None))
        except ValueError:
            raise ProfilerError(f"--input: expected a shape such as 3,224,224 or 128:30522, found {text!r}") from None
    return lambda batch: tuple(torch.randn(batch, *shape) if below is None else torch.randint(below, (batch, *shape))
                               for shape, below in shapes)


def files_read():
    """The files of all loaded modules: those of the model are among them."""
    names = [vars(module).get("__file__") for module in list(sys.modules.values()) if hasattr(module, "__dict__")]
    return [name for name in names if name]


def write(measured, path):
    try:
        measured.write(path)
    except OSError as problem:
        raise ProfilerError(f"{path}: cannot be written: {problem.strerror}") from problem


def main(arguments):
    options = parsed(arguments)
    sys.path.insert(0, os.getcwd())
    try:
        inputs_of = found(options.inputs_of) if options.inputs_of else sample_maker(options.input)
        factory = found(options.model)
        refuse_overwriting(options.output, files_read())
        measured = profile(
            called(options.model, factory), lambda batch: called(options.inputs_of or "--input", inputs_of, batch),
            options.batch_sizes, device=options.device, precision=options.precision, repeat=options.repeat,
            warm_up=options.warm_up, leaves=options.leaf, device_kind=options.device_kind,
            name=options.name or options.model.partition(":")[2])
        write(measured, options.output)
    except (ProfilerError, OSError) as problem:
        fail(problem)
    print(measured.summary())


if __name__ == "__main__":
    main(sys.argv[1:])
