"""The records of files and answers: frozen dataclasses, made from the JSON Schemas by make_types.py."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ._values import Answer, Run, Value

__all__ = ["BareLink", "Bottleneck", "Collectives", "Comparison", "ComparisonRow", "Computed", "Covered",
           "CubeMesh", "Device", "DeviceKind", "DeviceMemory", "DeviceResult", "Devices", "Dragonfly", "Efficiency",
           "EventSummary", "FatTree", "FatTreeLevel", "FollowingStage", "Groups", "HappenedEvent", "Host",
           "HostLink", "HostResult", "InFlightCap", "LargestSize", "Layer", "Layers", "LeastPossible", "Level",
           "Link", "LinkLoad", "LinkResult", "LongRun", "MemoryBreakdown", "Migration", "Model", "ModelComparison",
           "Nic", "NodeGroup", "NodeKind", "Operation", "Origin", "Overflow", "Pattern", "Pcie",
           "PlainInterconnect", "PlainNetwork", "Plan", "PlanComputed", "PlanFigures", "Planning", "Platform",
           "PlatformCollectives", "Predicted", "Profile", "Question", "RankedPlan", "Ranking", "Recompute",
           "Remedies", "Remedy", "Replan", "Request", "RequestDevice", "RequestHost", "RequestTraining", "Route",
           "RunWindow", "SearchRow", "Sensitivity", "Simulation", "SimulationOperation", "SizeComparison",
           "SizePoint", "SizeRow", "SizeTry", "Speed", "Stage", "StageResult", "Swap", "SwitchNetwork", "Tensor",
           "Tied", "TimeSplit", "Torus", "Training", "Verdict"]


@dataclass(frozen=True)
class BareLink(Value):
    bandwidth_bytes_per_s: float
    latency_s: float
    duplex: str | None = None
    sharing: str | None = None


@dataclass(frozen=True)
class Bottleneck(Value):
    """What T consists of on the device that computes most."""

    kind: str  # the largest part, or a link that is busy for longer
    name: str  # of the stage or the link, or of the part in words
    share: float  # of T
    device: str  # that computes most
    shares: dict[str, float]  # by part: its share of T on this device, largest first


@dataclass(frozen=True)
class Collectives(Value):
    algorithm: str | None = None
    # share of the links' bandwidth: one, or one inside nodes and one between them
    efficiency: float | Efficiency | None = None
    rings: int | None = None
    latency_s: float | None = None  # of an all-reduce inside a node, beside its flows
    overlap: float | None = None


@dataclass(frozen=True)
class Comparison(Answer):
    """What compare --json answers. NAME.json: what 'stagecraft schema NAME' prints."""

    platform: str  # its name
    models: tuple[ModelComparison, ...]


@dataclass(frozen=True)
class ComparisonRow(Value):
    """A planner, with its plan and a run of it, or with why there is none."""

    planner: str  # its name
    # refused: the planner does not take the request, or the plan cannot run; planned: the simulation says whether
    # it fits
    outcome: str
    schedule: str | None = None  # that was asked for, with its parameters; only with --schedules
    plan: Plan | None = None  # as in its file
    stages: tuple[StageResult, ...] | None = None
    samples_per_update: int | None = None  # of the stage with the most
    staleness: int | None = None  # of the stage with the most, in updates
    memory_by: None | str = None
    predicted: PlanFigures | None = None  # the planner's claim
    evaluated: PlanFigures | None = None  # without contention
    details: dict | None = None
    file: str | None = None  # where the plan is kept; only with --save
    simulation: Simulation | None = None  # a run of the plan
    reason: str | None = None  # why there is no plan, or no run of it
    device: str | None = None  # that did not fit
    stage: int | None = None  # that did not fit, counted from 0
    excess_bytes: int | None = None  # the memory that is lacking; 0 if it is not known
    smallest_memory_bytes: int | None = None  # the least memory with which there is a plan, if no device has less
    largest_microbatch_size: int | None = None  # samples: the largest smaller size with which there is a plan
    hint: str | None = None  # what else might help
    planning_time_s: float | None = None  # seconds that the planner took; absent with --no-timings


@dataclass(frozen=True)
class Computed(Value):
    """How to compute the profile for another size or device kind; written by stagecraft model."""

    architecture: str  # a network of the catalogue
    granularity: str
    image: int | None = None  # pixels along an edge
    sequence: int | None = None  # tokens in a sample
    precision: str | None = None  # on every device; default: that of its description
    selective_recompute: bool | None = None  # the backward computes attention that is not fused again


@dataclass(frozen=True)
class Covered(Value):
    """Those that an action covers: of every so many microbatches of a replica, the first ones behind some
    others."""

    first: int
    of: int
    from_: int | None = None


@dataclass(frozen=True)
class CubeMesh(Value):
    type: str
    bandwidth_bytes_per_s: float
    latency_s: float
    duplex: str | None = None
    sharing: str | None = None
    doubled: tuple[tuple[int, ...], ...] | None = None  # pairs of devices that have two links


@dataclass(frozen=True)
class Device(Value):
    name: str
    kind: str
    node: str | None = None  # for all devices or for none
    host: Any = None


@dataclass(frozen=True)
class DeviceKind(Value):
    memory_bytes: int
    speed: float | Speed | None = None  # relative to the other kinds: in fp32, or in each precision
    reserved_bytes: int | None = None  # counts against the memory
    update_bandwidth_bytes_per_s: float | None = None  # of the optimizer step
    pass_overhead_s: float | None = None  # time of each forward and each backward beside its layers
    update_overhead_s: float | None = None  # time of each update beside the bytes of its step
    price: float | None = None  # of a device and hour, in any currency
    # path of the device file by which networks are computed for this kind, from this file's folder
    device_file: str | None = None


@dataclass(frozen=True)
class DeviceMemory(Value):
    """The memory of a device in the run behind the figures."""

    name: str
    peak_memory_bytes: int
    memory_bytes: int  # without what is reserved
    idle_memory_bytes: int


@dataclass(frozen=True)
class DeviceResult(Value):
    """A device in a run."""

    name: str
    stages: tuple[int, ...]  # that it holds, counted from 0
    busy_s: float  # seconds of T in which it works
    # seconds without events, of an iteration or per microbatch; null if the plan at the start does not use it, or
    # has no load
    load_s: float | None
    bubble_ratio: float | None  # 1 - busy_s / T; null if it was in use only before T
    time: TimeSplit
    peak_memory_bytes: int
    memory_bytes: int  # what plans may use: without what is reserved
    idle_memory_bytes: int  # memory_bytes - peak_memory_bytes, at least 0
    idle_memory_ratio: float  # its share of memory_bytes
    peak_at_s: float  # seconds from the start of the run: when the peak was first reached
    in_flight_peak: int  # the most microbatches in flight on the device, over all its stages
    peak_breakdown: MemoryBreakdown


@dataclass(frozen=True)
class Devices(Value):
    kind: str
    count: int


@dataclass(frozen=True)
class Dragonfly(Value):
    type: str
    bandwidth_bytes_per_s: float
    latency_s: float
    routers_per_group: int
    nodes_per_router: int
    global_bandwidth_bytes_per_s: float
    global_latency_s: float
    duplex: str | None = None
    sharing: str | None = None


@dataclass(frozen=True)
class Efficiency(Value):
    node: float | None = None
    network: float | None = None


@dataclass(frozen=True)
class EventSummary(Value):
    """A file of events, and what became of them; positions are those in the file, from 0."""

    sha256: str  # of the file and those that it names
    noise_seed: int | None  # null: the seeds of the file
    count: int  # events of the file
    happened: tuple[HappenedEvent, ...]
    never_happen: tuple[int, ...]  # positions
    of_unused_devices: tuple[int, ...]  # positions of those that change devices of no plan


@dataclass(frozen=True)
class FatTree(Value):
    """The link's keys are those of a node's port."""

    type: str
    levels: tuple[FatTreeLevel, ...]
    bandwidth_bytes_per_s: float | None = None
    latency_s: float | None = None
    duplex: str | None = None
    sharing: str | None = None


@dataclass(frozen=True)
class FatTreeLevel(Value):
    children: int
    oversubscription: float | None = None
    uplinks: int | None = None
    latency_s: float | None = None


@dataclass(frozen=True)
class FollowingStage(Value):
    """A stage of a plan that another one follows."""

    layers: tuple[str, ...]  # names
    devices: tuple[str, ...]  # names
    recomputed_layers: int  # how many
    swapped_layers: int  # how many


@dataclass(frozen=True)
class Groups(Value):
    """Into how many devices each replica is divided."""

    tensor: int | None = None  # devices that divide each layer's weights
    sequence: bool | None = None  # whether they divide by tokens what they do not divide by weights
    vocabulary_multiple: int | None = None  # each has a multiple of so many rows of the table of words
    context: int | None = None  # devices that divide the tokens of each sample
    attention: str | None = None  # how they attend to the tokens of each other
    expert: int | None = None  # devices that divide the experts of each block
    imbalance: float | None = None  # how many times the mean of tokens the busiest of these gets
    # in place of imbalance: how many times the mean of tokens each expert gets; none: as many as it is sent
    capacity: float | str | None = None


@dataclass(frozen=True)
class HappenedEvent(Value):
    """One device or link that an event has changed."""

    event: int  # its position in the file, from 0
    at_s: float  # seconds from the start of the run
    name: str | None  # the device or the link; null if it changes the whole run
    kind: str  # the key in the file of events
    # the new value, in bytes, bytes per second and seconds; of jitter the sigma, of work the mean of the factors,
    # of model the name
    value: float | str


@dataclass(frozen=True)
class Host(Value):
    memory_bytes: int
    link: HostLink | None = None  # may be left out above a pcie interconnect


@dataclass(frozen=True)
class HostLink(Value):
    bandwidth_bytes_per_s: float
    latency_s: float
    duplex: str | None = None
    sharing: str | None = None
    shared_by: int | None = None  # devices on one physical link


@dataclass(frozen=True)
class HostResult(Value):
    """A host memory in a run."""

    name: str
    peak_memory_bytes: int
    memory_bytes: int
    peak_at_s: float  # seconds from the start of the run


@dataclass(frozen=True)
class InFlightCap(Value):
    """A cap on the microbatches in flight of a stage."""

    stage: int  # counted from 0
    in_flight: int  # per replica


@dataclass(frozen=True)
class LargestSize(Answer):
    """What max-batch --planner --json answers, without --curve. NAME.json: what 'stagecraft schema NAME' prints."""

    microbatch_size: int | None  # samples: the size found; null if none fits
    planner: str  # its name
    outcome: str
    next: SizeTry | None  # the next size tried; null if no larger one was, or none fits
    tried: tuple[SizeTry, ...]  # all sizes tried, from the smallest on
    ended_early: bool  # whether the search left sizes open
    plan: Plan | None = None  # at the size found, as in its file
    stages: tuple[StageResult, ...] | None = None
    samples_per_update: int | None = None  # of the stage with the most
    staleness: int | None = None  # of the stage with the most, in updates
    memory_by: None | str = None
    predicted: PlanFigures | None = None  # the planner's claim
    evaluated: PlanFigures | None = None  # without contention
    details: dict | None = None
    engine: str | None = None  # of the run behind the figures: replay with --simulate
    throughput_samples_per_s: float | None = None
    tokens_per_second: float | None = None  # absent where the tokens of a sample are not known
    # 10^12 operations of the model per second and device; absent where they are not known
    tflops_per_device: float | None = None
    # operations of the model over the devices' peak, as a share; absent where one of them is not known
    mfu: float | None = None
    # in the currency of the prices; absent without prices, and for an asynchronous plan
    cost_per_iteration: float | None = None
    cost_per_billion_tokens: float | None = None  # of 10^9 tokens; absent without prices or tokens
    cost_per_million_samples: float | None = None  # of 10^6 samples; absent without prices
    devices: tuple[DeviceMemory, ...] | None = None  # each that the plan uses
    idle_memory_ratio: float | None = None  # idle memory over all memory of these devices
    reason: str | None = None  # why there is no plan at the smallest size tried
    device: str | None = None  # that did not fit
    stage: int | None = None  # that did not fit, counted from 0
    excess_bytes: int | None = None  # the memory that is lacking; 0 if it is not known
    smallest_memory_bytes: int | None = None  # the least memory with which there is a plan, if no device has less
    largest_microbatch_size: int | None = None  # samples: the largest smaller size with which there is a plan
    hint: str | None = None  # what else might help
    planning_time_s: float | None = None  # seconds of the whole search; absent with --no-timings


@dataclass(frozen=True)
class Layer(Value):
    name: str
    forward_s: float
    backward_s: float  # input and weight gradient together
    parameters_bytes: int
    output_bytes: int
    backward_weight_s: float | None = None  # default: half of backward
    experts_bytes: int | None = None  # the part of parameters that is of experts
    stash_bytes: int | None = None  # default: the bytes of its inputs
    checkpoint_bytes: int | None = None  # default: the bytes of its inputs
    workspace_bytes: int | None = None  # needed while it runs
    type: str | None = None  # layers of one type are interchangeable


@dataclass(frozen=True)
class Layers(Value):
    from_: str
    to: str


@dataclass(frozen=True)
class LeastPossible(Value):
    """How far down the time of a flushed iteration could go."""

    class_: str  # the plans that the bound of the class is for
    any_order_s: float  # seconds: the plan in any order of its work
    any_plan_of_class_s: float  # seconds: any plan of the class
    work_s: float  # seconds if all devices computed all the time
    over_any_plan_of_class: float | None  # the plan's time over any_plan_of_class_s; null if that is 0


@dataclass(frozen=True)
class Level(Value):
    count: int
    bandwidth: float


@dataclass(frozen=True)
class Link(Value):
    bandwidth_bytes_per_s: float
    latency_s: float
    name: str | None = None
    between: tuple[str, ...] | None = None
    duplex: str | None = None
    sharing: str | None = None


@dataclass(frozen=True)
class LinkLoad(Value):
    """One kind of transfers over a link."""

    what: str  # in words, such as activations 0 -> 1
    share: float  # of the bytes


@dataclass(frozen=True)
class LinkResult(Value):
    """A link and direction in a run."""

    name: str  # the link and its direction, such as gpu0.up
    bytes: int  # of transfers over it in T
    utilisation: float  # bytes over what it could carry in T; may exceed 1
    carries: tuple[LinkLoad, ...]  # in the evaluation, the largest share first


@dataclass(frozen=True)
class LongRun(Value):
    """Two short runs stand for the long one, since the longer of them comes into one state twice; or all of it was
    simulated, and the rest is null."""

    whole: str | None  # why all of it was simulated; null if it was not
    microbatches: tuple | None  # of the two runs
    from_s: float | None  # seconds after which the state comes again
    period_microbatches: int | None  # after how many it comes again
    period_s: float | None  # seconds after which it does
    exact: bool | None  # whether no transfer has shared a link with another
    # the largest between a figure of the whole run and the one that the short runs say, as a part of it; null
    # unless --verify-steady
    difference: float | None


@dataclass(frozen=True)
class MemoryBreakdown(Value):
    """Bytes at the instant of the peak, by category."""

    weights: int
    gradients: int
    optimizer: int
    stash: int
    buffers: int
    workspace: int


@dataclass(frozen=True)
class Migration(Value):
    """A transfer of state from one plan to the next one."""

    stage: int  # of the new plan, counted from 0
    layers: tuple[str, ...]  # names
    from_: str  # a device or host
    to: str  # a device or host
    what: str  # state: weights and what the optimizer keeps
    bytes: int
    start_s: float  # seconds from the start of the run
    end_s: float  # seconds from the start of the run


@dataclass(frozen=True)
class Model(Value):
    """A profile of a model: its layers, their times and sizes, and the tensors between them."""

    model: str
    device: str  # the device kind the times were taken on
    precision: str | None = None
    parameter_bytes: int | None = None  # of one parameter, as trained
    flops: float | None = None  # of the forward of one sample, two for each multiply-add
    masked_flops: float | None = None  # of these, what a causal mask hides
    tokens: int | None = None  # in a sample
    source: str | None = None  # who measured or computed this, and how
    origin: str | None = None
    # how to compute the profile for another size or device kind; written by stagecraft model
    computed: Computed | None = None
    microbatch_size: int | None = None
    input_bytes: int | None = None  # bytes that each source layer receives
    layers: tuple[Layer, ...] | None = None
    edges: tuple[tuple, ...] | None = None
    tensors: tuple[Tensor, ...] | None = None
    tied: tuple[Tied, ...] | None = None  # parameters that several layers have in common, which a device holds once
    profiles: tuple[Profile, ...] | None = None  # several microbatch sizes or device kinds, in place of one


@dataclass(frozen=True)
class ModelComparison(Value):
    """The plans for one model."""

    model: str  # its name
    best: str | None  # the planner of the best row; null if no plan runs with its memory
    rows: tuple[ComparisonRow, ...]  # the best one first
    best_schedule: str | None = None  # that was asked for in the best row, with its parameters; only with --schedules
    sends: str | None = None  # when transfers start; only with --sends
    complete: bool | None = None  # only if the comparison was interrupted
    sensitivity: Sensitivity | None = None  # only with --vary; null if fewer than two plans run with their memory


@dataclass(frozen=True)
class Nic(Value):
    bandwidth_bytes_per_s: float
    latency_s: float
    duplex: str | None = None
    sharing: str | None = None
    per: str | None = None
    shared_by: int | None = None  # neighbouring devices with one NIC; a divisor of the node's devices


@dataclass(frozen=True)
class NodeGroup(Value):
    kind: str
    count: int


@dataclass(frozen=True)
class NodeKind(Value):
    devices: Devices
    interconnect: PlainInterconnect | CubeMesh | Pcie | None = None
    host: Host | None = None
    nic: Nic | None = None


@dataclass(frozen=True)
class Operation(Value):
    op: str
    start_s: float
    stage: int | None = None
    cut: int | None = None  # the boundary after a stage
    shift: int | None = None


@dataclass(frozen=True)
class Origin(Value):
    """Where the bandwidths come from."""

    links: str | None = None
    collectives: str | None = None
    updates: str | None = None


@dataclass(frozen=True)
class Overflow(Value):
    """A place that held more than its memory."""

    name: str  # of the device or the host
    at_s: float  # seconds from the start of the run: when memory was first exceeded
    until_s: float | None  # seconds: from when on it sufficed; null if never
    excess_bytes: int  # peak - memory


@dataclass(frozen=True)
class Pattern(Value):
    period_s: float
    operations: tuple[Operation, ...]
    release: str | None = None


@dataclass(frozen=True)
class Pcie(Value):
    type: str
    bandwidth_bytes_per_s: float
    latency_s: float
    devices_per_switch: int
    duplex: str | None = None
    sharing: str | None = None
    uplink: BareLink | None = None  # of a switch to its socket; default: as the device link
    switches_per_socket: int | None = None  # default: all of them
    socket_link: BareLink | None = None  # of two sockets; required when there are several


@dataclass(frozen=True)
class PlainInterconnect(Value):
    type: str
    bandwidth_bytes_per_s: float
    latency_s: float
    duplex: str | None = None
    sharing: str | None = None


@dataclass(frozen=True)
class PlainNetwork(Value):
    type: str
    bandwidth_bytes_per_s: float
    latency_s: float
    duplex: str | None = None
    sharing: str | None = None


@dataclass(frozen=True)
class Plan(Value):
    """Which layers run where, how many microbatches, which schedule."""

    microbatch_size: int
    microbatches: int  # over all replicas; of an iteration, or at least of an asynchronous run
    schedule: dict  # a schedule's name and the parameters of its family
    stages: tuple[Stage, ...]
    planner: str | None = None
    model: str | None = None
    platform: str | None = None
    model_hash: str | None = None  # of the model the plan was made for
    platform_hash: str | None = None  # of the platform the plan was made for
    computed: PlanComputed | None = None  # how the model's figures are computed, where its file does not say
    rounds_per_update: int | None = None  # asynchronous: rounds of a stage's turns after which it updates its weights
    groups: Groups | None = None  # into how many devices each replica is divided
    training: Training | None = None
    pipeline_shares: tuple[int, ...] | None = None  # by pipeline, as proportions: how many microbatches it runs
    pattern: Pattern | None = None
    predicted: Predicted | None = None  # the planner's own claim


@dataclass(frozen=True)
class PlanComputed(Value):
    """How the model's figures are computed, where its file does not say."""

    architecture: str | None = None  # a network known by name, in place of a model file
    device: str | None = None  # kind of device for which it is computed first
    sequence: int | None = None  # tokens in a sample
    precision: str | None = None
    granularity: str | None = None
    selective_recompute: bool | None = None  # the backward computes attention that is not fused again


@dataclass(frozen=True)
class PlanFigures(Value):
    """Time and memory of a plan, as claimed or evaluated."""

    iteration_time_s: float | None  # seconds of an iteration; null for an asynchronous plan and without a claim
    period_s: float | None  # seconds per microbatch; null for a synchronous plan and without a claim
    peak_memory_bytes: dict[str, int]  # by device


@dataclass(frozen=True)
class Planning(Answer):
    """What plan --json answers: a plan, or why there is none. NAME.json: what 'stagecraft schema NAME' prints."""

    planner: str  # its name
    outcome: str  # out_of_memory: a plan that --despite-memory made
    plan: Plan | None = None  # as in its file
    stages: tuple[StageResult, ...] | None = None
    samples_per_update: int | None = None  # of the stage with the most
    staleness: int | None = None  # of the stage with the most, in updates
    memory_by: None | str = None
    predicted: PlanFigures | None = None  # the planner's claim
    evaluated: PlanFigures | None = None  # without contention
    details: dict | None = None
    throughput_samples_per_s: float | None = None  # without contention, as all rates here
    tokens_per_second: float | None = None  # absent where the tokens of a sample are not known
    # 10^12 operations of the model per second and device; absent where they are not known
    tflops_per_device: float | None = None
    # operations of the model over the devices' peak, as a share; absent where one of them is not known
    mfu: float | None = None
    # in the currency of the prices; absent without prices, and for an asynchronous plan
    cost_per_iteration: float | None = None
    cost_per_billion_tokens: float | None = None  # of 10^9 tokens; absent without prices or tokens
    cost_per_million_samples: float | None = None  # of 10^6 samples; absent without prices
    # without contention; null for plans that are not in the class, and where its bounds are not known
    least_possible: LeastPossible | None = None
    reason: str | None = None  # why there is no plan
    device: str | None = None  # that did not fit
    stage: int | None = None  # that did not fit, counted from 0
    excess_bytes: int | None = None  # the memory that is lacking; 0 if it is not known
    smallest_memory_bytes: int | None = None  # the least memory with which there is a plan, if no device has less
    largest_microbatch_size: int | None = None  # samples: the largest smaller size with which there is a plan
    hint: str | None = None  # what else might help
    planning_time_s: float | None = None  # seconds that the planner took; absent with --no-timings
    search: tuple[SearchRow, ...] | None = None  # the best first; only with --search


@dataclass(frozen=True)
class Platform(Value):
    """A cluster: nodes of one or several kinds, or devices with explicit links and routes."""

    platform: str
    device_kinds: dict[str, DeviceKind]
    origin: Origin | None = None  # where the bandwidths come from
    # whether the tensors of stage boundaries go from device to device, or through host memory
    transport: str | None = None
    node_kinds: dict[str, NodeKind] | None = None
    nodes: NodeGroup | tuple[NodeGroup, ...] | None = None
    network: SwitchNetwork | PlainNetwork | Torus | FatTree | Dragonfly | None = None
    devices: tuple[Device, ...] | None = None
    switches: tuple[str, ...] | None = None  # explicit form: vertices at which links end, besides the devices
    links: tuple[Link, ...] | None = None
    routes: tuple[Route, ...] | None = None
    default_link: BareLink | None = None
    collectives: Collectives | PlatformCollectives | None = None


@dataclass(frozen=True)
class PlatformCollectives(Value):
    table: tuple[tuple[int | float, ...], ...]  # rows of a size, increasing, and the bus bandwidth
    overlap: float | None = None


@dataclass(frozen=True)
class Predicted(Value):
    """The planner's own claim."""

    iteration_time_s: float | None = None
    period_s: float | None = None
    peak_memory_bytes: dict[str, int] | None = None


@dataclass(frozen=True)
class Profile(Value):
    microbatch_size: int
    layers: tuple[Layer, ...]
    device: str | None = None  # default: the device of the file
    precision: str | None = None
    origin: str | None = None
    input_bytes: int | None = None
    edges: tuple[tuple, ...] | None = None
    tensors: tuple[Tensor, ...] | None = None


@dataclass(frozen=True)
class Question(Value):
    """A question to a planner during a run."""

    asked_by: str  # what has happened
    microbatch: int  # how many had entered the pipeline
    at_s: float  # seconds from the start of the run
    reason: str  # what had been observed, and why the plan stayed
    # seconds of an iteration or per microbatch with the plan that ran; null without another plan
    keeping_s: float | None
    changing_s: float | None  # seconds, likewise with the other plan
    expected_stall_s: float | None  # seconds that the switch is expected to cost
    changes_at: int | None  # the first microbatch under the other plan; null if the plan stayed
    stages: tuple[FollowingStage, ...] | None  # of the other plan; null if the plan stayed


@dataclass(frozen=True)
class RankedPlan(Value):
    """A plan on one variation of the inputs."""

    planner: str
    outcome: str
    throughput_samples_per_s: float | None = None  # absent if the outcome is refused
    reason: str | None = None  # only if the outcome is refused


@dataclass(frozen=True)
class Ranking(Value):
    """The plans on one variation of the inputs."""

    variation: str  # such as bandwidth x 0.5
    winner: str | None  # the plan with the most samples/s and its memory; null if none runs
    runner_up: str | None
    lead: float | None  # the share by which the winner exceeds the runner-up
    survives: bool  # whether the winner is that on the files as they are
    # the winner's samples/s over those of the winner on the files as they are; null if that does not run
    regret: float | None
    plans: tuple[RankedPlan, ...]


@dataclass(frozen=True)
class Recompute(Value):
    layers: tuple[str, ...]
    microbatches: Covered | None = None
    checkpoint: str | None = None  # where it waits for the backward


@dataclass(frozen=True)
class Remedies(Value):
    """Changes that each let a plan fit that is out of memory, and leave everything else as it is."""

    memory_bytes: int | None  # the least memory that every device must have, with what is reserved there
    microbatch_size: int | None  # samples: the largest smaller size; null if none fits
    in_flight: tuple[InFlightCap, ...]  # the largest caps; empty if none help
    # layer: it is enough to recompute each layer of the stages that lack memory; stage: each of these stages as one
    # segment
    recompute: tuple[str, ...]
    swap: bool  # whether it is enough to swap the stash of each layer of these stages
    fastest_first: tuple[Remedy, ...]  # every change that is enough


@dataclass(frozen=True)
class Remedy(Value):
    """One change with which a plan fits."""

    change: str
    # of the changed plan, without contention; null for plans too long to evaluate
    throughput_samples_per_s: float | None


@dataclass(frozen=True)
class Replan(Value):
    """A change of the plan during a run."""

    microbatch: int  # the first one under the new plan
    at_s: float  # seconds from the start of the run: when that was asked for work
    reason: str  # as in its question
    keeping_s: float | None  # seconds, as in its question
    changing_s: float | None  # seconds, as in its question
    live: bool  # whether layers moved while training went on
    redone: int  # microbatches that run again after a failure
    moved_bytes: int  # of its transfers
    expected_stall_s: float | None  # seconds, as in its question
    stall_s: float | None  # seconds that the switch cost


@dataclass(frozen=True)
class Request(Value):
    """What a planner that is a program of its own is asked, on its standard input. Bandwidths are bytes per
    second."""

    microbatch_size: int  # samples per microbatch
    microbatches: int  # over all replicas; of an iteration, or of an asynchronous run
    schedule: dict | None  # null: the planner's choice
    training: RequestTraining
    options: dict[str, bool | float | str]  # what the user set, as given
    seed: int | None  # null: none
    # the plan that runs and that the answer may replace, a plan file (stagecraft/plan/1); null: none runs
    running: dict | None
    # a model file (stagecraft/model/1) of one profile, at the microbatch size planned for; times in s, sizes in B
    model: dict
    order: tuple[str, ...]  # the layers in canonical order
    cut_bytes: tuple[int, ...]  # bytes that cross the cut after each layer of the order but the last
    platform: dict  # the platform file (stagecraft/platform/1)
    devices: tuple[RequestDevice, ...]
    hosts: tuple[RequestHost, ...]
    # innermost first: so many members of the level below, joined at that bandwidth; null: not all devices are
    # connected
    levels: tuple[Level, ...] | None
    # row by row, of the narrowest link from each device to each; null on the diagonal and without a way; null as a
    # whole above 256 devices
    bandwidth: tuple[tuple[float | None, ...], ...] | None
    # row by row, of the way from each device to each; null without a way; null as a whole above 256 devices
    latency_s: tuple[tuple[float | None, ...], ...] | None
    # samples whose gradients one update is to sum up; null: as the microbatches or the schedule give
    samples_per_update: int | None = None
    memory: str | None = None  # what a plan may do with stashes if it does not fit


@dataclass(frozen=True)
class RequestDevice(Value):
    name: str
    kind: str
    node: int | None  # counted from 0; null on a platform without nodes
    memory_bytes: int
    usable_bytes: int  # what is not reserved
    time_factor: float | None  # by which the model's times grow here; null: not known
    host: str | None  # whose memory takes what is swapped; null: none
    host_bandwidth: float | None  # while no other device swaps


@dataclass(frozen=True)
class RequestHost(Value):
    name: str
    memory_bytes: int


@dataclass(frozen=True)
class RequestTraining(Value):
    gradient_copies: int
    optimizer_copies: int
    boundary_buffers: int
    input_gradient_release: float | None = None
    gradient_bucket_bytes: int | None = None  # absent: the planner's choice
    stash: str | None = None  # the model's stashes are these already; absent: autograd
    recipe: str | None = None  # the optimizer's, if the copies are those of one
    # what the replicas of a stage divide: 1 the optimizer's state, 2 gradients too, 3 weights too
    zero: int | None = None


@dataclass(frozen=True)
class Route(Value):
    between: tuple[str, ...]
    links: tuple[str, ...]


@dataclass(frozen=True)
class RunWindow(Value):
    """Microbatches of a run, one after the other."""

    begin: int  # its first microbatch
    end: int  # one more than its last microbatch
    microbatch_size: int  # samples of a microbatch
    at_s: float  # seconds from the start of the run: when all backwards before end had ended
    throughput_samples_per_s: float  # since the window before


@dataclass(frozen=True)
class SearchRow(Value):
    """A combination that a search tried; it has the values of what is searched."""

    outcome: str
    fits: bool  # whether the outcome is ok
    configuration: str | None  # the replicas of each stage, such as 4 x 8; null without a plan
    throughput_samples_per_s: float | None  # without contention; null without a plan
    iteration_time_s: float | None  # seconds, without contention; null without a plan, and for an asynchronous one
    period_s: float | None  # seconds per microbatch, without contention; null without a plan, and for a synchronous one
    peak_memory_bytes: int | None  # of the device that is fullest for its memory
    memory_bytes: int | None  # of the same device, without what is reserved
    excess_bytes: int | None  # the memory that is lacking, 0 if it is not known; null if it fits or is refused
    device: str | None  # where memory is lacking
    reason: str | None  # why it does not fit, or is refused
    tensor: int | None = None  # devices that divide each layer
    context: int | None = None  # devices that divide the tokens of a sample
    expert: int | None = None  # devices that divide the experts of a block
    zero: int | None = None  # what the replicas of a stage divide
    memory: str | None = None  # the memory policy
    microbatch_size: int | None = None  # samples


@dataclass(frozen=True)
class Sensitivity(Value):
    """The same plans on varied inputs; a plan is called by its planner, or as 'uniform with zb-v'."""

    winner: str  # on the files as they are
    survives: bool  # whether it wins in all variations
    survived: int  # in how many it wins
    given: Ranking  # on the files as they are
    variations: tuple[Ranking, ...]


@dataclass(frozen=True)
class Simulation(Run):
    """What simulate --json answers. T is the length of the measured window. Null: does not apply, or is not
    known."""

    outcome: str  # out_of_memory: some place held more than its memory; the run still finished
    engine: str  # replay: transfers share links; evaluate: every transfer has the whole bandwidth of its links
    network: str  # platform: transfers cross its links; analytic: one channel between consecutive stages
    schedule: str  # the plan's schedule, or literal
    events: EventSummary | None  # null without --events
    iteration_time_s: float | None  # seconds of the last iteration; null for an asynchronous run
    iterations_s: tuple[float, ...]  # seconds of each iteration; empty for an asynchronous run
    # seconds of work of the busiest device or channel, without links; null for several pipelines and where the
    # analytic network cannot run the plan
    load_s: float | None
    period_s: float | None  # seconds per microbatch in the steady state; null for a synchronous run
    # seconds: in the long run no replayed period is less; null for a synchronous run and with events
    least_period_s: float | None
    bound_s: float | None  # seconds: the lower bound of the iteration time or period
    over_bound: float | None  # iteration time or period over bound_s
    bound_by: str | None  # what decides bound_s, in words
    least_possible: LeastPossible | None  # null for plans that are not in the class, and where its bounds are not known
    rests_on: dict[str, dict[str, float]]  # by input and origin: the share of the devices' time that rests on it
    converged: bool | None  # whether the period is that of a longer run; null for a synchronous run
    # period of the window's second part over that of the first one, less 1; null for a synchronous run and a short
    # window
    drift: float | None
    run_length: int | None  # microbatches of the run; null for a synchronous run
    # how a run of at least 1024 microbatches was simulated (docs/explanation/steady-state.md); null for a shorter
    # run
    long_run: LongRun | None
    samples_per_update: int  # of the stage with the most
    staleness: int  # the most updates of a stage between the forward of a microbatch and the update with its gradients
    throughput_samples_per_s: float
    bubble_ratio: float  # share of the devices' time in T in which they are not busy
    # the same between the first and the last operation of a device: the longest idle time over the longest span
    span_bubble_ratio: float
    ideal_bubble_ratio: float  # T over the largest busy time of a device, less 1
    recompute_time_s: float  # seconds, summed over the devices
    exposed_communication_s: float  # seconds in which devices wait for tensors under way, summed over the devices
    idle_memory_bytes: int  # bytes that no device ever used, summed over the devices
    idle_memory_ratio: float  # their share of the devices' memory
    idle_memory_largest_ratio: float  # the largest share of a device
    idle_memory_by_stage: dict[str, float]  # by stage, counted from 0: the share of the fullest of its devices
    devices: tuple[DeviceResult, ...]  # each that a plan of the run uses
    hosts: tuple[HostResult, ...]  # each host memory that held something
    links: tuple[LinkResult, ...]  # each link and direction that carried something
    bottleneck: Bottleneck | None  # null if nothing took any time
    all_busy_time_s: float  # seconds of an iteration or per microbatch if every device were busy all the time
    overflows: tuple[Overflow, ...]  # places that held more than their memory
    predicted: PlanFigures  # the planner's claim
    evaluated: PlanFigures  # of the same run without contention
    prediction_error: float | None  # (claimed - simulated) / simulated of the time; null without a claim
    simulated_ops: int  # operations of the run, with marks
    tokens_per_second: float | None = None  # absent where the tokens of a sample are not known
    # 10^12 operations of the model per second and device; absent where they are not known
    tflops_per_device: float | None = None
    # operations of the model over the devices' peak, as a share; absent where one of them is not known
    mfu: float | None = None
    # in the currency of the prices; absent without prices, and for an asynchronous run
    cost_per_iteration: float | None = None
    cost_per_billion_tokens: float | None = None  # of 10^9 tokens; absent without prices or tokens
    cost_per_million_samples: float | None = None  # of 10^6 samples; absent without prices
    # the run in windows of microbatches; absent without --replan and --events
    windows: tuple[RunWindow, ...] | None = None
    questions: tuple[Question, ...] | None = None  # to a planner during the run; absent if there are none
    replans: tuple[Replan, ...] | None = None  # changes of the plan; absent if there are none
    migrations: tuple[Migration, ...] | None = None  # transfers of state; absent if there are none
    verdict: Verdict | None = None  # absent if the plan never changed, or could not have run to the end
    would_fit: Remedies | None = None  # only if the outcome is out_of_memory
    wall_time_s: float | None = None  # seconds that the engine took; absent with --no-timings
    # by start; only with --timeline, --transfers or --timeline-window
    timeline: tuple[SimulationOperation, ...] | None = None


@dataclass(frozen=True)
class SimulationOperation(Value):
    """An operation of a run."""

    op: str
    stage: int | None  # counted from 0; null if it is of none
    # counted over the run; of an update, how many the stage had before; of a collective, the first of its iteration
    # or round
    microbatch: int
    from_: str | None  # a device or host; of a computation its device
    to: str | None  # a device or host
    start_s: float  # seconds from the start of the run
    end_s: float  # seconds from the start of the run
    bytes: int  # that it carried
    aborted: bool  # whether a failure ended it, and it ran again


@dataclass(frozen=True)
class SizeComparison(Answer):
    """What max-batch --json answers with --planners or --curve. NAME.json: what 'stagecraft schema NAME' prints."""

    model: str  # its name
    platform: str  # its name
    engine: str  # of the runs behind the figures: replay with --simulate
    rows: tuple[SizeRow, ...]


@dataclass(frozen=True)
class SizePoint(Value):
    """A plan at one microbatch size."""

    microbatch_size: int  # samples
    throughput_samples_per_s: float
    configuration: str  # the replicas of each stage, such as 4 x 8
    peak_memory_bytes: int  # of the device that is fullest for its memory
    memory_bytes: int  # of the same device, without what is reserved
    recomputed_layers: int  # how many
    swapped_layers: int  # how many
    memory_by: None | str
    extrapolated: bool  # whether the times of the layers are


@dataclass(frozen=True)
class SizeRow(Value):
    """The largest microbatch size of a planner under a memory policy."""

    planner: str  # its name
    memory: str  # the memory policy
    outcome: str
    reason: str | None = None  # why there is no plan
    largest: SizePoint | None = None  # null if no size fits; absent if all are refused
    ended_early: bool | None = None  # whether the search left sizes open
    fastest: SizePoint | None = None  # only with --curve
    points: tuple[SizePoint, ...] | None = None  # from the smallest size on; only with --curve
    left_out: tuple[int, ...] | None = None  # sizes at which no plan fits; only with --curve


@dataclass(frozen=True)
class SizeTry(Value):
    """A microbatch size that was tried."""

    microbatch_size: int  # samples
    outcome: str
    reason: str | None = None  # why it does not fit, or is refused
    device: str | None = None  # that did not fit
    stage: int | None = None  # that did not fit, counted from 0
    excess_bytes: int | None = None  # the memory that is lacking; 0 if something else is


@dataclass(frozen=True)
class Speed(Value):
    fp32: float | None = None
    tf32: float | None = None
    fp16: float | None = None
    bf16: float | None = None
    fp8: float | None = None


@dataclass(frozen=True)
class Stage(Value):
    layers: tuple[str, ...] | Layers
    # replicas, in the order of turns: a device each, or with 'groups' a list of devices each
    devices: tuple[str | tuple[str, ...], ...] | None = None
    ring: tuple[str, ...] | None = None  # the same devices in the order of the all-reduce; default: the order of turns
    replication: str | None = None
    # by replica, as proportions: how many microbatches it runs, or how much of each
    shares: tuple[int, ...] | None = None
    # segments of consecutive layers; a plain name is a segment of one
    recompute: tuple[str | tuple[str, ...] | Recompute, ...] | None = None
    # layers whose stash is copied to the host; a plain name is a copy of its own
    swap: tuple[str | Swap, ...] | None = None
    # a forward waits until all microbatches before the last so many before it have made their copies to the host
    swap_backlog: int | None = None
    weight_versions: int | None = None
    swap_weight_versions: bool | None = None  # whether all but the two newest are in host memory
    in_flight: int | None = None  # a cap, per replica
    pipeline: int | None = None  # which copy of the model


@dataclass(frozen=True)
class StageResult(Value):
    """A stage of a plan."""

    layers: tuple[str, ...]  # names
    devices: tuple[str, ...]  # names, in the order of turns
    actions: str  # a letter for each layer: k kept, r recomputed, s swapped; R and S for some microbatches only
    in_flight: int  # microbatches, per replica
    weight_versions: int  # per replica
    time_s: float  # seconds of a microbatch on the slowest replica
    memory_bytes: int | None  # the largest evaluated peak of its devices
    samples_per_update: int
    staleness: int  # updates between the forward of a microbatch and the update with its gradients
    ring: tuple[str, ...] | None = None  # the same in the order of the all-reduce; absent where it does not differ


@dataclass(frozen=True)
class Swap(Value):
    layers: tuple[str, ...]
    microbatches: Covered | None = None
    prefetch: bool | None = None  # whether the copy back may start during the backward before


@dataclass(frozen=True)
class SwitchNetwork(Value):
    """The link's keys are those of a node's port."""

    type: str
    bandwidth_bytes_per_s: float | None = None
    latency_s: float | None = None
    duplex: str | None = None
    sharing: str | None = None


@dataclass(frozen=True)
class Tensor(Value):
    kept_by: tuple[str, ...]  # those whose backward reads it; part of their stash
    from_: str | None = None  # default: an input of the network
    to: tuple[str, ...] | None = None  # default: all layers that it feeds
    bytes: int | None = None  # default: the output of from, or input


@dataclass(frozen=True)
class Tied(Value):
    layers: tuple[str, ...]
    bytes: int  # their size, part of the parameters of each layer


@dataclass(frozen=True)
class TimeSplit(Value):
    """Seconds of T that a device spends with what; all but ramps add up to T."""

    compute: float  # forwards and backwards
    recompute: float  # forwards that are run again before a backward
    exposed_communication: float  # idle while the transfer that it waits for is under way
    all_reduce: float  # sends or receives in a collective, and does not compute
    all_reduce_wait: float  # likewise, while only other members send and receive
    update: float  # optimizer steps
    idle: float  # the rest
    ramps: float  # of idle: before its first backward and after its last forward in a flushed iteration
    exchange: float | None = None  # what the members of its group exchange; absent without groups of devices


@dataclass(frozen=True)
class Torus(Value):
    type: str
    bandwidth_bytes_per_s: float
    latency_s: float
    sizes: tuple[int, ...]
    duplex: str | None = None
    sharing: str | None = None


@dataclass(frozen=True)
class Training(Value):
    gradient_copies: int | None = None
    optimizer_copies: int | None = None
    boundary_buffers: int | None = None
    # share of the stash that a split backward frees at its input-gradient half
    input_gradient_release: float | None = None
    # size of the parts in which replicas exchange gradients during the backward; 0: all after it
    gradient_bucket_bytes: int | None = None
    stash: str | None = None  # memory of a layer: what the model file says, or its inputs only
    recipe: str | None = None  # the optimizer's: gives the copies that are not given here
    # what the replicas of a stage divide: 1 the optimizer's state, 2 gradients too, 3 weights too
    zero: int | None = None


@dataclass(frozen=True)
class Verdict(Value):
    """Whether the changes of the plan were worth what they cost; seconds from the start of the run."""

    kept_s: float | None  # when the run would end if the plan had stayed
    replanned_s: float  # when it ends
    changes_s: float | None  # the sum of the stalls


BareLink._shape = {"bandwidth": ("bandwidth_bytes_per_s", 'bytes_per_s'), "latency": ("latency_s", 's')}
Collectives._shape = {"efficiency": ("efficiency", ['any of', Efficiency]), "latency": ("latency_s", 's')}
Comparison._shape = {"models": ("models", ['list', ModelComparison])}
ComparisonRow._shape = {"plan": ("plan", Plan), "stages": ("stages", ['list', StageResult]), "predicted": ("predicted",
    PlanFigures), "evaluated": ("evaluated", PlanFigures), "simulation": ("simulation", Simulation)}
Covered._shape = {"from": ("from_", None)}
CubeMesh._shape = {"bandwidth": ("bandwidth_bytes_per_s", 'bytes_per_s'), "latency": ("latency_s", 's')}
DeviceKind._shape = {"memory": ("memory_bytes", 'bytes'), "speed": ("speed", ['any of', Speed]), "reserved":
    ("reserved_bytes", 'bytes'), "update_bandwidth": ("update_bandwidth_bytes_per_s", 'bytes_per_s'), "pass_overhead":
    ("pass_overhead_s", 's'), "update_overhead": ("update_overhead_s", 's')}
DeviceResult._shape = {"time": ("time", TimeSplit), "peak_breakdown": ("peak_breakdown", MemoryBreakdown)}
Dragonfly._shape = {"bandwidth": ("bandwidth_bytes_per_s", 'bytes_per_s'), "latency": ("latency_s", 's'),
    "global_bandwidth": ("global_bandwidth_bytes_per_s", 'bytes_per_s'), "global_latency": ("global_latency_s", 's')}
EventSummary._shape = {"happened": ("happened", ['list', HappenedEvent])}
FatTree._shape = {"bandwidth": ("bandwidth_bytes_per_s", 'bytes_per_s'), "latency": ("latency_s", 's'), "levels":
    ("levels", ['list', FatTreeLevel])}
FatTreeLevel._shape = {"latency": ("latency_s", 's')}
Host._shape = {"memory": ("memory_bytes", 'bytes'), "link": ("link", HostLink)}
HostLink._shape = {"bandwidth": ("bandwidth_bytes_per_s", 'bytes_per_s'), "latency": ("latency_s", 's')}
LargestSize._shape = {"plan": ("plan", Plan), "stages": ("stages", ['list', StageResult]), "predicted": ("predicted",
    PlanFigures), "evaluated": ("evaluated", PlanFigures), "devices": ("devices", ['list', DeviceMemory]), "next":
    ("next", SizeTry), "tried": ("tried", ['list', SizeTry])}
Layer._shape = {"forward": ("forward_s", 's'), "backward": ("backward_s", 's'), "backward_weight": ("backward_weight_s",
    's'), "parameters": ("parameters_bytes", 'bytes'), "experts": ("experts_bytes", 'bytes'), "output": ("output_bytes",
    'bytes'), "stash": ("stash_bytes", 'bytes'), "checkpoint": ("checkpoint_bytes", 'bytes'), "workspace":
    ("workspace_bytes", 'bytes')}
Layers._shape = {"from": ("from_", None)}
LeastPossible._shape = {"class": ("class_", None)}
Link._shape = {"bandwidth": ("bandwidth_bytes_per_s", 'bytes_per_s'), "latency": ("latency_s", 's')}
LinkResult._shape = {"carries": ("carries", ['list', LinkLoad])}
Migration._shape = {"from": ("from_", None)}
Model._constants = {"schema": "stagecraft/model/1"}
Model._shape = {"computed": ("computed", Computed), "input": ("input_bytes", 'bytes'), "layers": ("layers", ['list',
    Layer]), "tensors": ("tensors", ['list', Tensor]), "tied": ("tied", ['list', Tied]), "profiles": ("profiles",
    ['list', Profile])}
ModelComparison._shape = {"rows": ("rows", ['list', ComparisonRow]), "sensitivity": ("sensitivity", Sensitivity)}
Nic._shape = {"bandwidth": ("bandwidth_bytes_per_s", 'bytes_per_s'), "latency": ("latency_s", 's')}
NodeKind._shape = {"devices": ("devices", Devices), "interconnect": ("interconnect", ['any of', PlainInterconnect,
    CubeMesh, Pcie]), "host": ("host", Host), "nic": ("nic", Nic)}
Operation._shape = {"start": ("start_s", 's')}
Pattern._shape = {"period": ("period_s", 's'), "operations": ("operations", ['list', Operation])}
Pcie._shape = {"bandwidth": ("bandwidth_bytes_per_s", 'bytes_per_s'), "latency": ("latency_s", 's'), "uplink":
    ("uplink", BareLink), "socket_link": ("socket_link", BareLink)}
PlainInterconnect._shape = {"bandwidth": ("bandwidth_bytes_per_s", 'bytes_per_s'), "latency": ("latency_s", 's')}
PlainNetwork._shape = {"bandwidth": ("bandwidth_bytes_per_s", 'bytes_per_s'), "latency": ("latency_s", 's')}
Plan._constants = {"schema": "stagecraft/plan/1"}
Plan._shape = {"computed": ("computed", PlanComputed), "groups": ("groups", Groups), "training": ("training", Training),
    "stages": ("stages", ['list', Stage]), "pattern": ("pattern", Pattern), "predicted": ("predicted", Predicted)}
Planning._shape = {"plan": ("plan", Plan), "stages": ("stages", ['list', StageResult]), "predicted": ("predicted",
    PlanFigures), "evaluated": ("evaluated", PlanFigures), "least_possible": ("least_possible", LeastPossible),
    "search": ("search", ['list', SearchRow])}
Platform._constants = {"schema": "stagecraft/platform/1"}
Platform._shape = {"origin": ("origin", Origin), "device_kinds": ("device_kinds", ['map', DeviceKind]), "node_kinds":
    ("node_kinds", ['map', NodeKind]), "nodes": ("nodes", ['any of', NodeGroup, ['list', NodeGroup]]), "network":
    ("network", ['any of', SwitchNetwork, PlainNetwork, Torus, FatTree, Dragonfly]), "devices": ("devices", ['list',
    Device]), "links": ("links", ['list', Link]), "routes": ("routes", ['list', Route]), "default_link":
    ("default_link", BareLink), "collectives": ("collectives", ['any of', Collectives, PlatformCollectives])}
Predicted._shape = {"iteration_time": ("iteration_time_s", 's'), "period": ("period_s", 's'), "peak_memory":
    ("peak_memory_bytes", ['map', 'bytes'])}
Profile._shape = {"input": ("input_bytes", 'bytes'), "layers": ("layers", ['list', Layer]), "tensors": ("tensors",
    ['list', Tensor])}
Question._shape = {"stages": ("stages", ['list', FollowingStage])}
Ranking._shape = {"plans": ("plans", ['list', RankedPlan])}
Recompute._shape = {"microbatches": ("microbatches", Covered)}
Remedies._shape = {"in_flight": ("in_flight", ['list', InFlightCap]), "fastest_first": ("fastest_first", ['list',
    Remedy])}
Request._constants = {"schema": "stagecraft/request/1"}
Request._shape = {"training": ("training", RequestTraining), "devices": ("devices", ['list', RequestDevice]), "hosts":
    ("hosts", ['list', RequestHost]), "levels": ("levels", ['list', Level])}
RequestTraining._shape = {"gradient_bucket": ("gradient_bucket_bytes", 'bytes')}
Sensitivity._shape = {"given": ("given", Ranking), "variations": ("variations", ['list', Ranking])}
Simulation._shape = {"events": ("events", EventSummary), "least_possible": ("least_possible", LeastPossible),
    "long_run": ("long_run", LongRun), "devices": ("devices", ['list', DeviceResult]), "hosts": ("hosts", ['list',
    HostResult]), "links": ("links", ['list', LinkResult]), "bottleneck": ("bottleneck", Bottleneck), "overflows":
    ("overflows", ['list', Overflow]), "predicted": ("predicted", PlanFigures), "evaluated": ("evaluated", PlanFigures),
    "windows": ("windows", ['list', RunWindow]), "questions": ("questions", ['list', Question]), "replans": ("replans",
    ['list', Replan]), "migrations": ("migrations", ['list', Migration]), "verdict": ("verdict", Verdict), "would_fit":
    ("would_fit", Remedies), "timeline": ("timeline", ['list', SimulationOperation])}
SimulationOperation._shape = {"from": ("from_", None)}
SizeComparison._shape = {"rows": ("rows", ['list', SizeRow])}
SizeRow._shape = {"largest": ("largest", SizePoint), "fastest": ("fastest", SizePoint), "points": ("points", ['list',
    SizePoint])}
Stage._shape = {"layers": ("layers", ['any of', Layers]), "recompute": ("recompute", ['list', ['any of', Recompute]]),
    "swap": ("swap", ['list', ['any of', Swap]])}
Swap._shape = {"microbatches": ("microbatches", Covered)}
SwitchNetwork._shape = {"bandwidth": ("bandwidth_bytes_per_s", 'bytes_per_s'), "latency": ("latency_s", 's')}
Tensor._shape = {"from": ("from_", None), "bytes": ("bytes", 'bytes')}
Tied._shape = {"bytes": ("bytes", 'bytes')}
Torus._shape = {"bandwidth": ("bandwidth_bytes_per_s", 'bytes_per_s'), "latency": ("latency_s", 's')}
Training._shape = {"gradient_bucket": ("gradient_bucket_bytes", 'bytes')}
