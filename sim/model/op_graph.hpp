#pragma once

#include "sim/base/index.hpp"
#include "sim/base/quantity.hpp"
#include "sim/model/leg.hpp"
#include "sim/model/observation.hpp"
#include "sim/model/replan_question.hpp"

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

namespace stagecraft {

enum class OpKind : std::uint8_t {
  // Computations: occupy their lanes and take `seconds` at the device's nominal speed.
  Forward,
  Backward,  ///< input and weight gradient together
  BackwardInput,
  BackwardWeight,
  ForwardBackward,  ///< an overlapped pair
  Recompute,
  Update,
  /// Of the members of a group, all of whose lanes it occupies for `seconds`, whatever their speeds. Unless it is
  /// `literal`, it also lasts until the last of its dependencies has ended, which waits for its flows.
  Exchange,
  Post,  ///< a send or receive is posted: a mark in a device's order that takes no time
  // Transfers: `bytes` from one place to another.
  Activation,
  Gradient,
  AllReduce,
  ReduceScatter,
  AllGather,
  ExchangeFlow,  ///< of an exchange that shares its links
  SwapOut,
  SwapIn,
  Migration,
  // Neither device nor link.
  Delay,            ///< takes `seconds`
  Save,             ///< of a checkpoint: occupies its device's lane for `seconds`, whatever the device's speed
  CollectiveBegin,  ///< all members have come to a collective; takes the latency of all steps but the last
  CollectiveEnd,    ///< all its flows have ended, so every member has the result
  Barrier,          ///< the end of an iteration
  Setup,            ///< takes what a plan keeps in memory from the start
  /// The first of its window: what has not ended by then is given up, and all memory is free. Training goes on with its
  /// microbatch, which may have been run before.
  Abandon,
};

[[nodiscard]] constexpr bool is_compute(OpKind kind) { return kind <= OpKind::Post; }
[[nodiscard]] constexpr bool is_transfer(OpKind kind) {
  return kind >= OpKind::Activation && kind <= OpKind::Migration;
}
/// Whether it is a flow of a collective of replicas, for gradients or for weights.
[[nodiscard]] constexpr bool is_ring_flow(OpKind kind) {
  return kind >= OpKind::AllReduce && kind <= OpKind::AllGather;
}
[[nodiscard]] const char* to_string(OpKind kind);

/// The purpose that bytes of memory are kept for (docs/reference/report.md).
enum class MemoryCategory : std::uint8_t { Weights, Gradients, Optimizer, Stash, Buffers, Workspace };
inline constexpr std::size_t kMemoryCategories = 6;
[[nodiscard]] const char* to_string(MemoryCategory category);

/// What a migration carries.
enum class Migrated : std::uint8_t {
  State,  ///< weights and optimizer state of layers
  Weights,
  Optimizer,
  Stash,
};
[[nodiscard]] const char* to_string(Migrated migrated);

/// How a lane chooses its next operation.
enum class Discipline : std::uint8_t {
  Strict,  ///< in the order in which the operations were appended; one that is not ready holds up the rest
  Ready,   ///< among the ready ones the least (priority, time it became ready, id)
};

/// Something that runs one operation at a time: a device's compute, an exclusive channel of a stage boundary, or a
/// connection.
struct Lane {
  Discipline discipline = Discipline::Strict;
  DeviceId device;  ///< none but for a device's compute
  /// Carries what one place sends another. The bytes of a transfer follow on those of the one before; its latency
  /// passes while it waits for them.
  bool connection = false;
  friend bool operator==(const Lane&, const Lane&) = default;
};

/// A stage of a run. Stages are numbered over the whole run in the order in which windows announce them: a plan that
/// follows another brings stages of its own.
struct RunStage {
  std::vector<DeviceId> devices;  ///< that execute it, in the order of its replicas
  friend bool operator==(const RunStage&, const RunStage&) = default;
};

/// One operation. Its dependencies, memory deltas and further lanes stand beside it in the window's flat arrays.
struct Op {
  OpKind kind = OpKind::Delay;
  /// A transfer is suspended while one of a smaller class uses a link of its route: swap gives way to boundary traffic.
  std::uint8_t transfer_class = 0;
  bool literal : 1 = false;    ///< a transfer or an exchange that takes `seconds` and crosses no link
  bool continues : 1 = false;  ///< a forward that an earlier operation has begun, until weights for it were missing
  bool closes = false;  ///< its end is the end of the microbatch's backward at the stage: it is in flight no longer
  std::uint8_t extra_lanes = 0;  ///< lanes beyond `lane`, in `OpGraph::extra_lanes`
  Leg leg = Leg::Whole;          ///< of a transfer; a further leg depends on nothing but the one before
  /// For a computation, which of its device's stages it belongs to, in the plan's order. For an activation or a
  /// gradient, which of the receiving device's stages it goes to. For a collective and its flows, which of its plan's
  /// collectives it is; `stage` is then the stage of its first member. For a migration, what it carries (`Migrated`).
  std::uint16_t chunk = 0;
  std::int32_t priority = 0;  ///< on lanes with `Discipline::Ready`: smaller first
  LaneId lane;                ///< none: starts as soon as it is ready
  /// Of the run; none where no stage is meant. Of the mark of another plan, its first one.
  StageId stage;
  /// Counted over the whole run. For an update, the number of updates before it. For a collective and its flows, the
  /// first microbatch of the iteration or of the round.
  std::uint32_t microbatch = 0;
  PlaceId from;  ///< the device of a computation; where a transfer starts, or the way that its `leg` is a part of
  PlaceId to;
  /// Of a computation, a delay, a save, a literal transfer. Of a flow of a collective: until its links have carried
  /// what all flows of its phase bring to them, latency included, which only `evaluate` has to be told.
  Seconds seconds;
  Bytes bytes;
  Seconds not_before;  ///< the operation is not ready earlier
  friend bool operator==(const Op&, const Op&) = default;
};

/// Whether it is the first operation of a microbatch at its stage.
[[nodiscard]] constexpr bool begins_forward(const Op& op) {
  return (op.kind == OpKind::Forward && !op.continues) || op.kind == OpKind::ForwardBackward;
}

/// Whether the operation moves bytes over the platform's links.
[[nodiscard]] constexpr bool crosses_links(const Op& op) {
  return is_transfer(op.kind) && !op.literal && op.from != op.to;
}

/// Whether the last of its dependencies holds up the operation's end, and not its start.
[[nodiscard]] constexpr bool outlasts_last(const Op& op) { return op.kind == OpKind::Exchange && !op.literal; }

/// Tells routes apart: transfers with the same key cross the same links. **Requires** fewer than 2^30 places.
[[nodiscard]] constexpr std::uint64_t route_key(const Op& op) {
  return (std::uint64_t{static_cast<std::uint8_t>(op.leg)} << 62) | (std::uint64_t{op.from.value()} << 32) |
         op.to.value();
}

/// What is left of a transfer's latency when it starts, after it has `waited` for its connection.
[[nodiscard]] constexpr Seconds latency_left(Seconds latency, Seconds waited) {
  return waited < latency ? latency - waited : Seconds(0);
}

/// A change of the memory in use at a place, when an operation starts or ends.
struct MemoryDelta {
  PlaceId place;
  MemoryCategory category = MemoryCategory::Stash;
  bool at_end = false;
  Bytes bytes;  ///< negative: freed
  friend bool operator==(const MemoryDelta&, const MemoryDelta&) = default;
};

/// A window of operations. Identifiers are global: operation i of the window is `first_id + i`.
///
/// An operation may depend on any earlier one. A transfer is in the same window as the last operation that it depends
/// on. So when an operation of a loaded window ends, the engine already knows everything that may start then, except
/// for further computations of devices; those it pulls when a device's lane runs dry.
struct OpGraph {
  OpId first_id{0};
  OpId retired{0};                   ///< neither this window nor a later one depends on an operation below this one
  std::vector<Lane> new_lanes;       ///< lanes that are new in this window, numbered on from earlier ones
  std::vector<RunStage> new_stages;  ///< stages that are new in this window; lanes have announced their devices
  std::vector<ReplanQuestion> questions;  ///< asked when the window was made
  std::optional<Seconds> ask_again;       ///< the next window is to be pulled at that instant, if not earlier
  std::vector<LaneId> closed_lanes;       ///< lanes for which no later window has an operation; each is listed once
  std::vector<Op> ops;
  std::vector<std::uint32_t> dependency_end;  ///< of each operation, in `dependencies`; its begin is the end before
  std::vector<OpId> dependencies;
  std::vector<std::uint32_t> delta_end;
  std::vector<MemoryDelta> deltas;
  std::vector<LaneId> extra_lanes;  ///< of the operations that have some, in their order
  friend bool operator==(const OpGraph&, const OpGraph&) = default;

  /// Makes space for `count` operations, with about one dependency and one change of memory each.
  void reserve(std::size_t count) {
    ops.reserve(count);
    dependency_end.reserve(count);
    dependencies.reserve(count);
    delta_end.reserve(count);
    deltas.reserve(count);
  }
  /// Appends an operation; the calls below add to the last one appended.
  OpId append(const Op& op) {
    ops.push_back(op);
    dependency_end.push_back(static_cast<std::uint32_t>(dependencies.size()));
    delta_end.push_back(static_cast<std::uint32_t>(deltas.size()));
    return OpId(first_id.value() + ops.size() - 1);
  }
  void depend_on(OpId earlier) {
    dependencies.push_back(earlier);
    ++dependency_end.back();
  }
  /// Takes `bytes` when the operation starts.
  void take(PlaceId place, MemoryCategory category, Bytes bytes) { add_delta({place, category, false, bytes}); }
  /// Frees `bytes` when the operation ends.
  void free(PlaceId place, MemoryCategory category, Bytes bytes) { add_delta({place, category, true, -bytes}); }
  void add_delta(const MemoryDelta& delta) {
    if (delta.bytes == Bytes(0)) return;
    deltas.push_back(delta);
    ++delta_end.back();
  }
  void occupy(LaneId lane) {
    extra_lanes.push_back(lane);
    ++ops.back().extra_lanes;
  }

  [[nodiscard]] std::span<const OpId> dependencies_of(std::size_t i) const {
    const std::size_t begin = i == 0 ? 0 : dependency_end[i - 1];
    return std::span(dependencies).subspan(begin, dependency_end[i] - begin);
  }
  /// Those that end before the operation starts.
  [[nodiscard]] std::span<const OpId> before_start(std::size_t i) const {
    const std::span<const OpId> all = dependencies_of(i);
    return outlasts_last(ops[i]) && !all.empty() ? all.first(all.size() - 1) : all;
  }
  /// What ends before the operation ends, which may start earlier; none if nothing does.
  [[nodiscard]] OpId before_end(std::size_t i) const {
    const std::span<const OpId> all = dependencies_of(i);
    return outlasts_last(ops[i]) && !all.empty() ? all.back() : OpId::none();
  }
  [[nodiscard]] std::span<const MemoryDelta> deltas_of(std::size_t i) const {
    const std::size_t begin = i == 0 ? 0 : delta_end[i - 1];
    return std::span(deltas).subspan(begin, delta_end[i] - begin);
  }
};

/// Where an engine pulls its windows from.
struct OpSource {
  /// The next window, or none at the end of the run. An engine also pulls one whenever a device fails or recovers, even
  /// after the end.
  std::function<std::optional<OpGraph>(const Observation&)> next;
  /// Every lane is strict, only computations change memory, no transfer has several legs, and `next` ignores the
  /// observation. Then times follow from one pass over the operations in their order, as long as no link is exclusive
  /// and nothing changes during the run.
  bool one_pass = false;
};

/// A source of one window.
[[nodiscard]] OpSource single_window(OpGraph graph, bool one_pass = false);

}  // namespace stagecraft
