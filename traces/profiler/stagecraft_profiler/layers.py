"""The layers of a model file: operators that do something, with the views of what they return."""

from collections import defaultdict
from dataclasses import dataclass, field
from typing import Dict, List, Set

from torch import fx

from .operators import Operator, Place
from .profile import Figures, Layer, Size, Tensor, Tied, Whole
from .tensors import bytes_of

Operators = Dict[fx.Node, Operator]  # of one batch size


@dataclass
class Part:
    """A layer: an operator, and the views of its results or of what no operator makes."""

    node: fx.Node
    views: List[fx.Node] = field(default_factory=list)
    reads: Dict[Place, List[Place]] = field(default_factory=lambda: defaultdict(list))  # memory, by what is read of it
    kept: List[Set[Place]] = field(default_factory=list)  # by run, the memory that its backward reads
    parameters: dict = field(default_factory=dict)  # by identity

    def keeps(self):
        """The memory that its backward reads in all runs."""
        return set.intersection(*self.kept)


class Layering:
    """Divides the nodes of a graph into layers that are the same at all batch sizes.

    A `Place` that is not of a view stands for the memory of that output. An operator that changes its input takes its
    memory over: who reads it later reads it from there."""

    def __init__(self, graph: fx.Graph, names: Dict[fx.Node, str], runs: List[Operators]):
        self._names, self._runs = names, runs
        self._memory: Dict[Place, Place] = {}
        self._taken_over: Dict[Place, Place] = {}
        self._waiting: Dict[Place, List[fx.Node]] = defaultdict(list)  # views of what no operator makes
        self.parts: Dict[fx.Node, Part] = {}
        for node in graph.nodes:
            if node.op in ("placeholder", "get_attr"):
                self._own(node)
            elif node.op != "output" and all(run[node].is_view() for run in runs):
                self._add_view(node)
            elif node.op != "output":
                self._add_part(node)

    def layers(self):
        """Names and parameters."""
        return [Layer(self._names[part.node], sum(map(bytes_of, part.parameters.values())))
                for part in self.parts.values()]

    def tied(self):
        """Parameters that several layers have."""
        users, sizes = defaultdict(list), {}
        for part in self.parts.values():
            for key, parameter in part.parameters.items():
                users[key].append(self._names[part.node])
                sizes[key] = bytes_of(parameter)
        groups = defaultdict(int)
        for key, layers in users.items():
            groups[tuple(layers)] += sizes[key]
        return [Tied(layers, size) for layers, size in groups.items() if len(layers) > 1 and size > 0]

    def size(self, index: int, batch: int, whole: Whole):
        """What the run of that index says of the layers."""
        run, parts = self._runs[index], self.parts.values()
        edges = {(self._names[producer], self._names[part.node]): size
                 for part in parts for producer, size in self._feeders(part, run).items()}
        fed = {to for _, to in edges}
        inputs = [sum(self._read(run, place, part) for place in part.reads if place.node.op == "placeholder")
                  for part in parts if self._names[part.node] not in fed]
        figures = [self._figures(part, run, part.kept[index]) for part in parts]
        return Size(batch, max(inputs, default=0), figures, edges, self._tensors(run), whole)

    def _own(self, node):
        for index, tensor in enumerate(self._runs[-1][node].outputs):
            self._memory[Place(node, index)] = Place(node, tensor.first)

    def _memory_of(self, place):
        place = self._memory[place]
        while place in self._taken_over:
            place = self._taken_over[place]
        return place

    def _add_view(self, node):
        operator = self._runs[-1][node]
        for index, tensor in enumerate(operator.outputs):
            self._memory[Place(node, index)] = self._memory_of(operator.inputs[tensor.alias])
        if not operator.inputs:
            return
        base = self._memory_of(operator.inputs[0])
        if base.node in self.parts:
            self.parts[base.node].views.append(node)
        else:
            self._waiting[base].append(node)

    def _add_part(self, node):
        operator = self._runs[-1][node]
        part = self.parts[node] = Part(node)
        self._own(node)
        memory = [self._memory_of(place) for place in operator.inputs]
        parameters = list(operator.parameters)
        for place, base in zip(operator.inputs, memory):
            part.views += self._waiting.pop(base, [])
            if base.node.op == "get_attr":
                parameters += self._runs[-1][base.node].parameters
            else:
                part.reads[base].append(place)
        part.parameters = {id(parameter): parameter for parameter in parameters}
        part.kept = [self._kept(node, run) for run in self._runs]
        if operator.changes_input:
            for index, tensor in enumerate(operator.outputs):
                if tensor.alias is not None:
                    self._taken_over[memory[tensor.alias]] = Place(node, tensor.first)

    def _kept(self, node, run):
        """The memory that the operator's backward reads in a run."""
        operator = run[node]
        inputs = {self._memory_of(operator.inputs[index]) for index in operator.kept_inputs}
        return inputs | {Place(node, index) for index in operator.kept_outputs}

    def _read(self, run, base, part):
        """Bytes that the layer reads of the memory: of an expanded tensor only what is there."""
        read = sum(run[place.node].outputs[place.index].size for place in set(part.reads[base]))
        return min(read, _storage(run, base))

    def _feeders(self, part, run):
        """The operators whose layers feed one, with the bytes."""
        feeders = defaultdict(int)
        for base in part.reads:
            if base.node in self.parts:
                feeders[base.node] += self._read(run, base, part)
        return feeders

    def _figures(self, part, run, kept):
        operator = run[part.node]
        times = sum((run[node].times for node in part.views), operator.times)
        output = sum(tensor.size for index, tensor in enumerate(operator.outputs) if tensor.first == index)
        stash = operator.kept_inside + sum(_storage(run, place) for place in part.keeps())
        # What the operator copies at other batch sizes, but not in this run, is as if it were a copy.
        stash += sum(self._read(run, place, part) if place in part.reads else _storage(run, place)
                     for place in kept - part.keeps())
        return Figures(times, output, stash)

    def _tensors(self, run):
        """Who reads and who keeps each tensor that goes from one layer to another, or into the network."""
        readers, keepers = defaultdict(list), defaultdict(list)
        for part in self.parts.values():
            for place in part.reads:
                readers[place].append(self._names[part.node])
            for place in part.keeps():
                keepers[place].append(self._names[part.node])
        return [Tensor(self._names[place.node] if place.node in self.parts else None, to, keepers[place],
                       _storage(run, place)) for place, to in readers.items()]


def _storage(run, place):
    return run[place.node].outputs[place.index].storage
