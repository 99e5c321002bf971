"""What was measured, as a model file has it."""

import json
from dataclasses import dataclass
from typing import Dict, List, Optional, Tuple

from .clock import Times
from .model_file import refuse_overwriting, write_atomically


@dataclass(frozen=True)
class Layer:
    name: str
    parameters: int  # bytes, with those that it has in common with others


@dataclass(frozen=True)
class Figures:
    """Of one layer at one batch size."""

    times: Times
    output: int  # bytes
    stash: int


@dataclass(frozen=True)
class Tensor:
    """A tensor that layers read or keep; from no layer: an input of the network."""

    source: Optional[str]
    to: List[str]
    kept_by: List[str]
    size: int


@dataclass(frozen=True)
class Tied:
    """Parameters that several layers have in common."""

    layers: Tuple[str, ...]
    size: int


@dataclass(frozen=True)
class Whole:
    """Of the model as a whole."""

    times: Times
    stash: int  # bytes


@dataclass(frozen=True)
class Size:
    """Everything measured at one batch size."""

    batch: int
    input: int  # bytes
    figures: List[Figures]  # by layer
    edges: Dict[Tuple[str, str], int]  # bytes
    tensors: List[Tensor]
    whole: Whole

    def total(self):
        """The times of all layers, and what they keep together: a tensor that several keep counts once."""
        times = sum((figures.times for figures in self.figures), Times())
        again = sum(tensor.size * (len(tensor.kept_by) - 1) for tensor in self.tensors if tensor.kept_by)
        return Whole(times, sum(figures.stash for figures in self.figures) - again)


@dataclass(frozen=True)
class Profile:
    model: str
    device: str
    precision: str
    parameter_bytes: int
    source: str
    layers: List[Layer]
    tied: List[Tied]
    sizes: List[Size]

    def parameters(self):
        """Bytes of all parameters, each counted once."""
        twice = sum(tied.size * (len(tied.layers) - 1) for tied in self.tied)
        return sum(layer.parameters for layer in self.layers) - twice

    def summary(self):
        """A table that holds the sums of all layers against the whole model, for people."""
        lines = [f"{self.model} on {self.device} in {self.precision}: {len(self.layers)} layers, "
                 f"{self.parameters()} bytes of parameters"]
        lines += [f"{tied.size} bytes of them are in {' and '.join(tied.layers)}, and count once" for tied in self.tied]
        lines.append(f"{'samples':>7}" + "".join(f"{name:>14} {'of whole':>8}"
                                                 for name in ("forward", "backward", "stash")))
        for size in self.sizes:
            layers, whole = size.total(), size.whole
            pairs = [(_ms(layers.times.forward), layers.times.forward, whole.times.forward),
                     (_ms(layers.times.backward), layers.times.backward, whole.times.backward),
                     (f"{layers.stash} B", layers.stash, whole.stash)]
            lines.append(f"{size.batch:>7}" + "".join(f"{text:>14} {_share(part, of):>8}" for text, part, of in pairs))
        return "\n".join(lines)

    def text(self):
        """The model file."""
        lines = ["schema: stagecraft/model/1", f"model: {_quoted(self.model)}", f"device: {_quoted(self.device)}",
                 f"precision: {self.precision}", f"parameter_bytes: {self.parameter_bytes}",
                 f"source: {_quoted(self.source)}", "origin: measured"]
        if self.tied:
            lines.append("tied:")
        for tied in self.tied:
            lines.append(f"  - {{layers: {_list(tied.layers)}, bytes: {tied.size} B}}")
        lines.append("profiles:")
        for size in self.sizes:
            lines += self._size_lines(size)
        return "\n".join(lines) + "\n"

    def write(self, path):
        """Writes the model file completely or not at all; it replaces no file but a model file.
        **Raises** ProfilerError or OSError."""
        refuse_overwriting(path)
        write_atomically(path, self.text())

    def _size_lines(self, size):
        yield f"  - microbatch_size: {size.batch}"
        yield f"    input: {size.input} B"
        yield "    layers:"
        for layer, figures in zip(self.layers, size.figures):
            times = figures.times
            yield (f"      - {{name: {_quoted(layer.name)}, forward: {_us(times.forward)}, backward: "
                   f"{_us(times.backward)}, backward_weight: {_us(times.backward_weight)}, parameters: "
                   f"{layer.parameters} B, output: {figures.output} B, stash: {figures.stash} B}}")
        yield "    edges:" if size.edges else "    edges: []"
        for (source, to), carried in size.edges.items():
            yield f"      - [{_quoted(source)}, {_quoted(to)}, {{bytes: {carried} B}}]"
        if size.tensors:
            yield "    tensors:"
        for tensor in size.tensors:
            source = f"from: {_quoted(tensor.source)}, " if tensor.source is not None else ""
            yield (f"      - {{{source}to: {_list(tensor.to)}, bytes: {tensor.size} B, "
                   f"kept_by: {_list(tensor.kept_by)}}}")


def _quoted(text):
    """A string of JSON is one of YAML, and is never taken for a number."""
    return json.dumps(text)


def _list(names):
    return "[" + ", ".join(map(_quoted, names)) + "]"


def _us(seconds):
    return f"{seconds * 1e6:.3f} us"


def _ms(seconds):
    return f"{seconds * 1e3:.3f} ms"


def _share(part, whole):
    return f"{100 * part / whole:.0f} %" if whole > 0 else "-"
