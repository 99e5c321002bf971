#pragma once

#include "experiments/run/inputs.hpp"
#include "sim/model/layer_graph.hpp"
#include "sim/model/plan.hpp"
#include "sim/model/report.hpp"
#include "sim/schedule/lower.hpp"

#include <cstdint>
#include <functional>
#include <optional>
#include <utility>
#include <vector>

namespace stagecraft {

/// A change to a plan that lacks memory; the enumerators name the fields of `Remedies`.
enum class Change : std::uint8_t { Memory, MicrobatchSize, InFlight, RecomputeLayers, RecomputeStages, Swap };

/// A change that was tried.
struct TriedChange {
  Change change = Change::Memory;
  std::optional<double> throughput;  ///< samples per second without contention; none if the run is long
  /// The plan so changed, which is the one that was evaluated, without the prediction that was made for another. None
  /// for `Memory`, which changes the platform.
  std::optional<Plan> plan = {};
  friend bool operator==(const TriedChange&, const TriedChange&) = default;
};

/// Changes of which each alone would make a plan fit in memory, according to the memory ledger. A field is empty or
/// false if that change would not be enough.
struct Remedies {
  std::optional<Bytes> memory;                  ///< of every device, the reserved part included
  std::optional<std::int64_t> microbatch_size;  ///< the largest smaller one, with as many microbatches
  /// Stage and cap: the largest caps on microbatches in flight per replica, of every stage that lacks memory.
  std::vector<std::pair<StageId, std::int64_t>> in_flight;
  bool recompute_layers = false;   ///< each layer of the stages that lack memory recomputed by itself
  bool recompute_stages = false;   ///< or each of those stages as one segment
  bool swap = false;               ///< the stash of each layer of the stages that lack memory swapped to the host
  std::vector<TriedChange> tried;  ///< all that would be enough, the fastest first
  friend bool operator==(const Remedies&, const Remedies&) = default;
};

/// Changes that would make a plan fit, whose devices ran out of memory in `report`, each evaluated as `options` say,
/// until its period has converged, or with `run_length` microbatches if the plan is asynchronous and they are given.
/// `graph` is the model at the plan's microbatch size. Where a host lacks memory nothing is tried, because the ledger
/// does not know what a host holds.
/// **Cost** up to six evaluations, or none if each has more than 10^6 computations; swaps are then not tried.
[[nodiscard]] Remedies find_remedies(const Inputs& inputs, const LayerGraph& graph, const ScheduleProgram& program,
                                     const Report& report, const LowerOptions& options = {},
                                     const std::optional<std::int64_t>& run_length = {});

/// The largest number in [`begin`, `end`) for which `holds` is true, by bisection; none if it is false for `begin`.
/// **Requires** that `holds` is true up to some number and false from there on.
[[nodiscard]] std::optional<std::int64_t> largest_between(std::int64_t begin, std::int64_t end,
                                                          const std::function<bool(std::int64_t)>& holds);

}  // namespace stagecraft
