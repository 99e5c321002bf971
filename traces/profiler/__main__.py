"""The command line: python3 traces/profiler MODULE:FACTORY --input 3,224,224 -o model.yaml"""

import argparse
import importlib
import os
import sys

try:
    import torch
except ImportError:
    sys.exit("profiler: error: PyTorch is missing (Debian: apt install python3-torch)")

from stagecraft_profiler import ProfilerError, profile
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
    try:
        value = importlib.import_module(module)
        for part in name.split("."):
            value = getattr(value, part)
    except (ImportError, AttributeError) as problem:
        raise ProfilerError(f"{where}: {problem}") from problem
    return value


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


def check_output(path):
    """Refuses before anything is measured what cannot be a file."""
    folder = os.path.dirname(path)
    if os.path.isdir(path):
        raise ProfilerError(f"{path}: cannot be written: it is a directory")
    if folder and not os.path.exists(folder):
        raise ProfilerError(f"{path}: cannot be written: there is no folder '{folder}'; make the folder first")


def write(measured, path):
    try:
        measured.write(path)
    except OSError as problem:
        raise ProfilerError(f"{path}: cannot be written: {problem.strerror}") from problem


def main(arguments):
    options = parsed(arguments)
    sys.path.insert(0, os.getcwd())
    try:
        check_output(options.output)
        inputs_of = found(options.inputs_of) if options.inputs_of else sample_maker(options.input)
        measured = profile(
            found(options.model)(), inputs_of, options.batch_sizes, device=options.device, precision=options.precision,
            repeat=options.repeat, warm_up=options.warm_up, leaves=options.leaf, device_kind=options.device_kind,
            name=options.name or options.model.partition(":")[2])
        write(measured, options.output)
    except (ProfilerError, OSError) as problem:
        sys.exit(f"profiler: error: {problem}")
    print(measured.summary())


if __name__ == "__main__":
    main(sys.argv[1:])
