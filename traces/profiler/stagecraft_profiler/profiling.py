"""From a model to its profile."""

import platform
from contextlib import contextmanager, nullcontext

import torch

from .clock import Clock
from .errors import ProfilerError
from .layers import Layering
from .operators import OperatorRun, states_of, with_kept
from .profile import Profile, Whole
from .tensors import map_tensors
from .tracing import layer_names, trace

PRECISIONS = {"fp32": torch.float32, "tf32": torch.float32, "fp16": torch.float16, "bf16": torch.bfloat16}


def profile(model, inputs_of, batch_sizes=(1, 2, 4, 8), *, device="cpu", precision="fp32", repeat=10, warm_up=3,
            leaves=(), name=None, device_kind=None):
    """The Profile of a model in training.

    inputs_of(batch) returns the tuple of inputs of so many samples. `leaves` names classes of modules that are measured
    as one operator each. `device_kind` is the device of the model file; without it the name of the device as its driver
    gives it, or "cpu".
    The model is moved to the device and set to training, and its running statistics change.
    **Raises** ProfilerError where the model cannot be traced or run, or an argument is wrong."""
    if not isinstance(model, torch.nn.Module):
        raise ProfilerError(f"expected a model of torch.nn.Module, found {type(model).__name__}")
    sizes = sorted(set(batch_sizes))
    if not sizes or sizes[0] < 1 or repeat < 1 or warm_up < 0:
        raise ProfilerError("batch sizes and repetitions are at least 1")
    if precision not in PRECISIONS:
        raise ProfilerError(f"the precision is one of {', '.join(PRECISIONS)}, not {precision!r}")
    if str(device).partition(":")[0] not in ("cpu", "cuda"):
        raise ProfilerError(f"the device is cpu, cuda or cuda:N, not {device}")
    try:
        device = torch.device(device)
    except RuntimeError as problem:
        raise ProfilerError(f"the device is cpu, cuda or cuda:N, not {device}") from problem
    if device.type == "cuda" and not torch.cuda.is_available():
        raise ProfilerError("PyTorch finds no CUDA device; --device cpu measures on the host")
    clock, dtype = Clock(device, repeat, warm_up), PRECISIONS[precision]
    model = model.to(device, dtype).train()

    def inputs_at(batch):
        inputs = inputs_of(batch)
        if not isinstance(inputs, (tuple, list)):
            raise ProfilerError(f"expected a tuple of the model's inputs, found {type(inputs).__name__}")
        return map_tensors(lambda tensor: _moved(tensor, device, dtype), tuple(inputs))

    graph_module = trace(model, len(inputs_at(sizes[0])), leaves)
    names = layer_names(graph_module)
    with _products(tf32=precision == "tf32"), torch.cuda.device(device) if device.type == "cuda" else nullcontext():
        wholes = [_whole(model, clock, batch, inputs_at(batch)) for batch in sizes]
        runs = [_run(graph_module, clock, names, batch, inputs_at(batch)) for batch in sizes]
    layering = Layering(graph_module.graph, names, runs)
    if not layering.parts:
        raise ProfilerError(f"{type(model).__name__} computes nothing")
    return Profile(
        model=name or type(model).__name__, device=device_kind or kind_of(device), precision=precision,
        parameter_bytes=torch.empty(0, dtype=dtype).element_size(), source=_source(device, repeat),
        layers=layering.layers(), tied=layering.tied(),
        sizes=[layering.size(i, batch, wholes[i]) for i, batch in enumerate(sizes)])


def kind_of(device):
    """The name that the driver has for the device, written as the names of device kinds are."""
    if device.type != "cuda":
        return device.type
    words = [word for word in torch.cuda.get_device_name(device).split() if word not in ("NVIDIA", "Tesla")]
    return "-".join(words)


def _moved(tensor, device, dtype):
    return tensor.to(device, dtype) if tensor.is_floating_point() else tensor.to(device)


def _run(graph_module, clock, names, batch, inputs):
    run = OperatorRun(graph_module, clock, names)
    try:
        run.run(inputs)
    except ProfilerError as problem:
        raise ProfilerError(f"at batch size {batch}, {problem}") from problem
    return run.operators


def _whole(model, clock, batch, inputs):
    trained = [parameter for parameter in model.parameters() if parameter.requires_grad]
    try:
        kept = with_kept(lambda: model(*inputs), states_of(model))[1]
        times = clock.measure(lambda: ([], inputs), lambda arguments: model(*arguments), trained)
    except Exception as problem:  # whatever the model raises
        raise ProfilerError(f"the model does not train at batch size {batch}: {problem}") from problem
    return Whole(times, sum(kept.values()))


@contextmanager
def _products(tf32):
    """Products of matrices and convolutions in fp32 or in TF32."""
    backends = (torch.backends.cuda.matmul, torch.backends.cudnn)
    before = [backend.allow_tf32 for backend in backends]
    for backend in backends:
        backend.allow_tf32 = tf32
    try:
        yield
    finally:
        for backend, value in zip(backends, before):
            backend.allow_tf32 = value


def _source(device, repeat):
    where = torch.cuda.get_device_name(device) if device.type == "cuda" else (
        f"{platform.machine()} with {torch.get_num_threads()} threads at most")
    return (f"measured operator by operator with PyTorch {torch.__version__} on {where}; "
            f"medians of {repeat} runs, gradients of ones")
