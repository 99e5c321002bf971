"""Runs a traced model and measures each operator on its own.

An operator gets inputs that are cut off from the rest of the graph, so its backward is its own. What it keeps for that
backward is told by the hooks of autograd.
"""

from dataclasses import dataclass, replace
from typing import FrozenSet, List, Optional, Tuple

import torch
from torch import fx

from .clock import Times
from .errors import ProfilerError
from .tensors import address_of, bytes_of, map_tensors, storage_of, tensors_in


@dataclass(frozen=True)
class Place:
    """A tensor of the graph: an output of a node, by position."""

    node: fx.Node
    index: int


@dataclass(frozen=True)
class Output:
    """A tensor that an operator returns."""

    size: int  # bytes of its elements
    storage: int  # bytes of the memory that it is in
    alias: Optional[int]  # the input, by position, in whose memory it is
    first: int  # the first output in the same memory


@dataclass(frozen=True)
class Operator:
    """What one batch size tells about a node of the graph."""

    inputs: Tuple[Place, ...] = ()
    outputs: Tuple[Output, ...] = ()
    kept_inputs: FrozenSet[int] = frozenset()  # whose memory the backward reads
    kept_outputs: FrozenSet[int] = frozenset()
    kept_inside: int = 0  # bytes of other memory that the backward reads
    changes_input: bool = False
    parameters: Tuple[torch.nn.Parameter, ...] = ()  # its own, not those that it is given
    times: Times = Times()

    def is_view(self):
        """Whether it only names memory that is there already, or returns no tensor."""
        keeps = self.kept_inputs or self.kept_outputs or self.kept_inside or self.parameters
        return not keeps and not self.changes_input and all(tensor.alias is not None for tensor in self.outputs)


@dataclass(frozen=True)
class Arguments:
    """Copies of what an operator is given, in the same memory unless they are clones."""

    leaves: List[torch.Tensor]  # of the operator's own graph of gradients
    given: List[torch.Tensor]  # by position
    args: tuple
    kwargs: dict


class OperatorRun(fx.Interpreter):
    """One run of the graph; `operators` then has each of its nodes but the output."""

    def __init__(self, graph_module, clock, names):
        super().__init__(graph_module)
        self._clock, self._names = clock, names
        self._states = states_of(graph_module)
        self.operators = {}

    def run_node(self, n):
        if n.op == "output":
            return super().run_node(n)
        if n.op in ("placeholder", "get_attr"):
            value = super().run_node(n)
            parameters = (value,) if isinstance(value, torch.nn.Parameter) else ()
            self.operators[n] = Operator(outputs=_outputs(tensors_in(value), []), parameters=parameters)
            if n.op == "get_attr":
                self._states.update(map(address_of, tensors_in(value)))
            return value
        try:
            value, self.operators[n] = self._measured(n)
        except Exception as problem:  # whatever the operator raises
            raise ProfilerError(f"{self._names[n]} ({n.op} {n.target}) fails: {problem}") from problem
        return value

    def _measured(self, n):
        changes_input, outputs = self._tried(n)

        def prepare():
            arguments = self._arguments(n, clone=changes_input)
            return arguments.leaves, arguments

        def forward(arguments):
            return getattr(self, n.op)(n.target, arguments.args, arguments.kwargs)

        operator = Operator(
            inputs=tuple(Place(node, i) for node in n.all_input_nodes for i in range(len(tensors_in(self.env[node])))),
            outputs=outputs, changes_input=changes_input,
            parameters=tuple(self.module.get_submodule(n.target).parameters()) if n.op == "call_module" else ())
        arguments = prepare()[1]
        value, kept = with_kept(lambda: forward(arguments), self._states)
        operator = replace(operator, **_owners(kept, arguments.given, tensors_in(value), changes_input))
        reached = [self.env[node] for node in n.all_input_nodes if isinstance(self.env[node], torch.nn.Parameter)]
        trained = [parameter for parameter in (*operator.parameters, *reached) if parameter.requires_grad]
        operator = replace(operator, times=self._clock.measure(prepare, forward, trained))
        return map_tensors(lambda tensor: tensor.detach().requires_grad_(tensor.requires_grad), value), operator

    def _arguments(self, n, clone=False):
        """An operator that changes its input gets clones, for it may not change a leaf."""
        leaves, given = [], []

        def copy(tensor):
            if not isinstance(tensor, torch.nn.Parameter):
                leaves.append(tensor.detach().requires_grad_(tensor.requires_grad))
                tensor = leaves[-1].clone() if clone else leaves[-1]
            given.append(tensor)
            return tensor

        copies = {node: map_tensors(copy, self.env[node]) for node in n.all_input_nodes}
        return Arguments(leaves, given, *(fx.node.map_arg(part, copies.__getitem__) for part in (n.args, n.kwargs)))

    def _tried(self, n):
        """(whether the operator changes an input, its outputs)."""
        with torch.no_grad():
            arguments = self._arguments(n)
            before = [tensor._version for tensor in arguments.given]
            returned = getattr(self, n.op)(n.target, arguments.args, arguments.kwargs)
            changes_input = before != [tensor._version for tensor in arguments.given]
            return changes_input, _outputs(tensors_in(returned), arguments.given)


def states_of(module):
    """The addresses of its parameters and buffers."""
    return {address_of(tensor) for tensor in [*module.parameters(), *module.buffers()]}


def with_kept(forward, states):
    """(what the forward returns, the memory that its backward reads: bytes by address). Without `states`, which are
    there anyway, and numbers such as a constant factor."""
    saved = []  # holds them, so that no two have the same address
    with torch.autograd.graph.saved_tensors_hooks(saved.append, lambda nothing: nothing):
        value = forward()
    kept = dict(storage_of(tensor) for tensor in saved if tensor.dim() > 0)
    return value, {address: size for address, size in kept.items() if address not in states}


def _owners(kept, given, returned, changes_input):
    """Whose memory is kept: that of an input, of an output, or of neither. What is changed in place is an output."""
    inputs, outputs = _first_places(given), _first_places(returned)
    owners = {**inputs, **outputs} if changes_input else {**outputs, **inputs}
    is_output = {address: address in outputs and (changes_input or address not in inputs) for address in kept}
    return {"kept_inputs": frozenset(owners[each] for each in kept if each in owners and not is_output[each]),
            "kept_outputs": frozenset(owners[each] for each in kept if is_output[each]),
            "kept_inside": sum(size for address, size in kept.items() if address not in owners)}


def _first_places(tensors):
    """By address, the first position of a tensor in that memory."""
    places = {}
    for place, tensor in enumerate(tensors):
        places.setdefault(address_of(tensor), place)
    return places


def _outputs(returned, given):
    aliases, firsts = _first_places(given), _first_places(returned)
    return tuple(Output(bytes_of(tensor), storage_of(tensor)[1], aliases.get(address_of(tensor)),
                        firsts[address_of(tensor)]) for tensor in returned)
