#pragma once

#include "sim/model/layer_graph.hpp"
#include "sim/model/measurement.hpp"
#include "sim/model/op_graph.hpp"
#include "sim/model/plan.hpp"
#include "sim/model/platform.hpp"
#include "sim/model/schedule.hpp"

#include <cstdint>
#include <optional>
#include <vector>

namespace stagecraft {

/// What crosses the boundaries of stages (contract, section 6).
enum class NetworkModel {
  Platform,  ///< flows over the platform's routes
  Analytic,  ///< each boundary is one exclusive channel whose time a formula gives
};

struct LowerOptions {
  NetworkModel network = NetworkModel::Platform;
  std::int64_t iterations = 1;        ///< flushed iterations of a synchronous schedule
  std::optional<Schedule> literal;    ///< the orders of schedule `literal`, for one iteration
  std::size_t window_operations = 0;  ///< least size of a window; 0: chosen by the number of devices
};

/// A run, ready for an engine, and what its figures are about.
struct LoweredRun {
  OpSource source;
  Measurement measurement;
  std::vector<DeviceUse> use;
};

/// Turns a plan into operations with seconds, bytes, dependencies and memory deltas, window by window.
///
/// Operations are numbered in an order in which each could be the next to start if all took one round; so every window
/// is a prefix of a feasible run. `graph` (at the plan's microbatch size) and `platform` must outlive the source.
/// The plan is prepared by its schedule (`prepared`) if it is not yet.
/// **Requires** a plan that `check_plan` finds without violations, memory apart, and that its schedule can run
/// (`ScheduleInfo::problem`), and literal orders that give devices work of their own stages only.
/// **Throws** InputError for an asynchronous run too short to measure (naming the least number of microbatches), for a
/// device kind of unknown speed, for an analytic boundary between replicas of which two are not connected, and from the
/// source for an order that can never be carried out.
/// **Cost** of the whole source O(operations); memory O(window + microbatches in flight).
[[nodiscard]] LoweredRun lower(const LayerGraph& graph, const Platform& platform, const Plan& plan,
                               const LowerOptions& options = {});

/// The first and last microbatch whose backwards bound the measured part of an asynchronous run (contract, section 6).
struct MeasuredPart {
  std::int64_t first = 0;
  std::int64_t last = 0;
  std::int64_t stride = 1;
};
/// **Throws** InputError that names the least number of microbatches.
[[nodiscard]] MeasuredPart measured_part(const Plan& plan);

/// The least `microbatches` with which `plan`, prepared, can be measured: 1 for synchronous schedules.
[[nodiscard]] std::int64_t least_microbatches(const Plan& plan);

}  // namespace stagecraft
