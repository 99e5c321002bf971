#pragma once

#include "sim/model/layer_graph.hpp"
#include "sim/model/pattern.hpp"
#include "sim/model/platform.hpp"
#include "sim/model/replicas.hpp"
#include "sim/model/schedule.hpp"

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace stagecraft {

struct KeptPlan;
struct Plan;

/// A segment of a run: the microbatches [begin, end) whose backwards it contains. Segments that partition
/// [0, microbatches), taken one after the other, give the whole order of every device. A forward is in the first
/// segment that needs it.
struct Segment {
  std::int64_t begin = 0;
  std::int64_t end = 0;
};

/// Everything that a schedule family sees of a plan. It must not outlive the graph and the platform.
struct PlanContext {
  const LayerGraph& graph;
  const Platform& platform;
  const Plan& plan;
  const Replicas& replicas;
  std::shared_ptr<const KeptPlan> kept;  ///< both, for orders that outlive the context
};
/// A schedule compiled for one plan.
struct ScheduleProgram {
  std::shared_ptr<const KeptPlan> kept;  ///< the plan, with the pattern that the program repeats
  bool synchronous = true;
  bool strict = true;       ///< every device keeps its order, so the memory peak depends on the orders alone
  bool at_once = false;     ///< the first segment contains all orders, so their memory grows with the microbatches
  bool alike = true;        ///< no stage splits some of its backwards and runs others whole
  bool has_halves = false;  ///< of orders that repeat: some stage splits backwards
  bool orders_are_given = false;  ///< the user gives them with the run: without them nothing exact is known
  /// Every replica is alone on its device and at some point runs a backward while `in_flight` microbatches, or all that
  /// it has, are in flight.
  bool reaches_in_flight = false;
  std::vector<std::int64_t> in_flight;  ///< by stage: the most microbatches in flight on one replica, with its cap
  /// By replica, if those of a stage differ; else empty.
  IndexVector<ReplicaId, std::int64_t> in_flight_of_replica = {};
  std::vector<std::int64_t> weight_versions;  ///< by stage: copies of the weights that each replica keeps
  /// Asynchronous: the most microbatches in flight on any replica, however long the run.
  std::int64_t steady_in_flight = 1;
  std::optional<Pattern> pattern;  ///< the pattern that it repeats every period, if it is periodic
  /// The microbatches by which a longer run has its orders once more, somewhere in its middle. 0: not known, since they
  /// are searched, given by the user, or hold all microbatches before the first backward.
  std::int64_t repeats = 0;
  /// Asynchronous: the least microbatches of a window of a run that is measured. More where the order may change its
  /// rhythm after it has repeated for a while.
  std::int64_t least_window = 64;
  [[nodiscard]] std::int64_t in_flight_on(ReplicaId id, StageId stage) const {
    const std::int64_t most = in_flight[stage.value()];
    return in_flight_of_replica.empty() ? most : std::min(most, in_flight_of_replica[id]);
  }
  /// Returns the orders of all devices for a segment of one iteration, or of an asynchronous run. It owns everything
  /// that it needs, so it may outlive the context.
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
