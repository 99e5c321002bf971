#pragma once

#include "sim/model/layer_graph.hpp"
#include "sim/model/plan.hpp"
#include "sim/model/platform.hpp"
#include "sim/model/replicas.hpp"
#include "sim/model/schedule.hpp"
#include "sim/schedule/stage_program.hpp"

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace stagecraft {

/// A piece of a run: the microbatches whose backwards it holds. The pieces of a partition of [0, microbatches), one
/// after the other, are the whole order of every device; forwards come with the first piece that needs them.
struct Segment {
  std::int64_t begin = 0;
  std::int64_t end = 0;
};

/// What a schedule family sees of a plan. It outlives none of them.
struct PlanContext {
  const LayerGraph& graph;
  const Platform& platform;
  const Plan& plan;
  const Replicas& replicas;
};
/// What every stage does for a microbatch, on the profile's device. **Cost** O(layers).
[[nodiscard]] std::vector<StageProgram> stage_programs(const PlanContext& context);

/// A plan and its replicas, for orders that outlive the context.
struct KeptPlan {
  Plan plan;
  Replicas replicas;
};
[[nodiscard]] std::shared_ptr<const KeptPlan> keep(const PlanContext& context);

/// A schedule made ready for one plan.
struct ScheduleProgram {
  bool synchronous = true;
  bool strict = true;    ///< every device keeps its order, so that memory depends on the orders alone
  bool at_once = false;  ///< the first segment has the orders of all, so that memory grows with the microbatches
  bool orders_are_given = false;  ///< they come with the run: without them nothing exact is known
  /// Every replica is alone on its device and at some point runs a backward while `in_flight` microbatches, or all that
  /// it has, are in flight.
  bool reaches_in_flight = false;
  std::vector<std::int64_t> in_flight;  ///< by stage: the most microbatches in flight on one replica, caps included
  std::vector<std::int64_t> weight_versions;  ///< by stage: copies of the weights that each replica keeps
  /// Asynchronous: the most microbatches in flight on any replica in a run without end.
  std::int64_t steady_in_flight = 1;
  std::optional<Pattern> pattern;  ///< what it runs period after period, if it does
  /// The orders of all devices in a segment of one iteration, or of the run if asynchronous. It owns what it needs.
  std::function<Schedule(Segment segment)> orders;
};

/// Why a schedule cannot run a plan.
struct ScheduleRefusal {
  std::string message;  ///< a sentence for the user
  std::string hint;     ///< empty if there is none
  friend bool operator==(const ScheduleRefusal&, const ScheduleRefusal&) = default;
};
using ScheduleRefusals = std::vector<ScheduleRefusal>;

/// The program, or every reason against it that was found: at least one.
using Compilation = std::variant<ScheduleProgram, ScheduleRefusals>;

}  // namespace stagecraft
