"""A model as a graph of operators: torch.fx traces it once, without data."""

import dis
import inspect
import traceback
from pathlib import Path
from unittest import mock

import torch
from torch import fx

from .errors import ProfilerError

_NOT_THE_USERS = (Path(torch.__file__).parent, Path(__file__).parent)
_PREFIX = "model"


class _Root(torch.nn.Module):
    """The model with its inputs as one tuple, so that arguments with a default keep it."""

    def __init__(self, model, count):
        super().__init__()
        self.model = model
        self.count = count

    def forward(self, inputs):
        return self.model(*[inputs[i] for i in range(self.count)])


class _Tracer(fx.Tracer):
    """Modules of torch.nn are one node each, as in torch.fx, and so are those of the classes in `leaves`."""

    def __init__(self, leaves):
        super().__init__()
        self._leaves = leaves

    def is_leaf_module(self, m, module_qualified_name):
        return type(m).__name__ in self._leaves or super().is_leaf_module(m, module_qualified_name)


def _iterate(proxy):
    """Unpacks `a, b = tensor.shape`: PyTorch 1.13 reads the wrong instruction of the caller from Python 3.11 on."""
    caller = inspect.currentframe().f_back
    now = next((each for each in dis.get_instructions(caller.f_code) if each.offset == caller.f_lasti), None)
    if now is not None and now.opname == "UNPACK_SEQUENCE":
        return iter([proxy[i] for i in range(now.argval)])
    return proxy.tracer.iter(proxy)


def trace(model, inputs, leaves=()):
    """The fx.GraphModule of the model. Its one argument is the tuple of the model's inputs."""
    classes = sorted({type(module).__name__ for module in model.modules()})
    for leaf in leaves:
        if leaf not in classes:
            raise ProfilerError(f"--leaf {leaf}: the model has no such modules, but {', '.join(classes)}")
    tracer = _Tracer(frozenset(leaves))
    try:
        with mock.patch.object(fx.Proxy, "__iter__", _iterate):
            graph = tracer.trace(_Root(model, inputs))
    except Exception as problem:  # whatever the model's own code does with a proxy
        raise ProfilerError(_what_failed(model, problem)) from problem
    return fx.GraphModule(tracer.root, graph)


def layer_names(graph_module):
    """A name for each node that may become a layer: the path of a module, or that of fx for a function."""
    names, taken = {}, set()
    for node in graph_module.graph.nodes:
        wanted = _module_name(graph_module, node) if node.op == "call_module" else node.name
        name, count = wanted, 1
        while name in taken:
            count += 1
            name = f"{wanted}_{count}"
        taken.add(name)
        names[node] = name
    return names


def _module_name(graph_module, node):
    path = node.target[len(_PREFIX):].lstrip(".")
    if any(character.isalpha() for character in path):
        return path
    kind = type(graph_module.get_submodule(node.target)).__name__.lower()
    return f"{kind}_{path}" if path else kind


def _what_failed(model, problem):
    """The user's line that stopped the trace, and the class of the module that it belongs to."""
    place, stopped = "", type(model).__name__
    frames = list(traceback.walk_tb(problem.__traceback__))
    for (frame, _), entry in zip(frames, traceback.StackSummary.extract(iter(frames))):
        if any(folder in Path(entry.filename).parents for folder in _NOT_THE_USERS):
            continue
        place = f" {entry.filename}:{entry.lineno}: {entry.line}"
        first = frame.f_locals.get(next(iter(frame.f_code.co_varnames), ""))
        if isinstance(first, torch.nn.Module):
            stopped = type(first).__name__
    hint = (f"--leaf {stopped} measures each {stopped} as one operator" if stopped != type(model).__name__ else
            "move that part into a module of its own, and measure it as one operator with --leaf CLASS")
    return (f"torch.fx cannot trace {type(model).__name__}:{place}\n  {type(problem).__name__}: {problem}\n"
            f"hint: what a forward does must not depend on the values or shapes of its tensors; {hint}")
