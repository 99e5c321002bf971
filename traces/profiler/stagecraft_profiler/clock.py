"""Times of a forward and its backward."""

import statistics
import time
from dataclasses import dataclass

import torch

from .tensors import tensors_in


@dataclass(frozen=True)
class Times:
    """Seconds of a forward, of its backward, and of the part of that for the gradients of parameters."""

    forward: float = 0.0
    backward: float = 0.0
    backward_weight: float = 0.0

    def __add__(self, other):
        return Times(self.forward + other.forward, self.backward + other.backward,
                     self.backward_weight + other.backward_weight)


@dataclass(frozen=True)
class Clock:
    """Times work on one device: the time of the host on a CPU, that between two events on a CUDA device."""

    device: torch.device
    repeat: int
    warm_up: int

    def measure(self, prepare, forward, parameters):
        """The Times of a forward that has the inputs `prepare` makes: (leaves, arguments). They are medians of `repeat`
        runs. Gradients of the outputs are ones; those of parameters are added to what `grad` holds, as those of a
        microbatch are to those of the microbatches before it."""
        for parameter in parameters:
            parameter.grad = torch.zeros_like(parameter)
        ahead, back = self._medians(prepare, forward, parameters)
        weight = 0.0
        if parameters and back > 0.0:
            needs_input_gradient = any(leaf.requires_grad for leaf in prepare()[0])
            without = self._medians(prepare, forward, ())[1] if needs_input_gradient else 0.0
            weight = max(0.0, back - without)
        for parameter in parameters:
            parameter.grad = None
        return Times(ahead, back, weight)

    def _medians(self, prepare, forward, parameters):
        runs = [self._run(*prepare(), forward, parameters) for _ in range(self.warm_up + self.repeat)]
        return tuple(statistics.median(column) for column in zip(*runs[self.warm_up:]))

    def _run(self, leaves, arguments, forward, parameters):
        result, ahead = self._timed(lambda: forward(arguments))
        outputs = [tensor for tensor in tensors_in(result) if tensor.requires_grad]
        wanted = [leaf for leaf in leaves if leaf.requires_grad]
        if not outputs or not (wanted or parameters):
            return ahead, 0.0
        ones = [torch.ones_like(tensor) for tensor in outputs]
        return ahead, self._timed(lambda: _backward(outputs, ones, wanted, parameters))[1]

    def _timed(self, work):
        if self.device.type != "cuda":
            begin = time.perf_counter()
            result = work()
            return result, time.perf_counter() - begin
        begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        torch.cuda.synchronize(self.device)
        begin.record()
        result = work()
        end.record()
        torch.cuda.synchronize(self.device)
        return result, begin.elapsed_time(end) / 1e3


def _backward(outputs, ones, leaves, parameters):
    gradients = torch.autograd.grad(outputs, [*leaves, *parameters], ones, allow_unused=True)
    with torch.no_grad():
        for parameter, gradient in zip(parameters, gradients[len(leaves):]):
            if gradient is not None:
                parameter.grad += gradient
