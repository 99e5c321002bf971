#pragma once

#include "sim/base/error.hpp"
#include "sim/base/quantity.hpp"
#include "sim/model/layer_graph.hpp"
#include "sim/model/measurement.hpp"
#include "sim/model/observation.hpp"
#include "sim/model/op_graph.hpp"
#include "sim/model/plan.hpp"
#include "sim/model/platform.hpp"
#include "sim/model/replan_question.hpp"
#include "sim/model/schedule.hpp"
#include "sim/schedule/network_model.hpp"
#include "sim/schedule/schedule_program.hpp"

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace stagecraft {

/// The state of a run when its re-planner is asked.
struct RunPosition {
  const LayerGraph& graph;        ///< that is trained from `earliest` on
  const Plan& plan;               ///< the current plan
  std::int64_t begin = 0;         ///< the microbatch of the run with which the current plan began
  std::int64_t earliest = 0;      ///< the least microbatch of the run that another plan may start with
  std::int64_t microbatches = 0;  ///< of the whole run, all iterations included
  std::int64_t end = 0;      ///< the microbatch before which the plan ends at the latest, since another model begins
  std::int64_t whole = 1;    ///< microbatches from one possible switch to the next: a round, or an iteration
  bool may_go_live = false;  ///< enough microbatches are left for a switch that does not drain
  /// A model begins at `earliest`, and so does its plan; and after a failure the plan that goes on without the device.
  ReplanQuestion::Cause cause = ReplanQuestion::Cause::Window;
};

/// A plan that replaces the current one from one microbatch of the run on.
struct PlanSwitch {
  Plan plan;  ///< its number of microbatches is that of an iteration; in an asynchronous run it is ignored
  std::int64_t microbatch = 0;
  bool drains = false;  ///< the pipeline drains, even where a run may go over to the plan while training goes on
};

/// Another plan, or none: the current one goes on.
struct ReplanAnswer {
  std::optional<PlanSwitch> change = std::nullopt;
  std::string reason = {};                         ///< for the user
  std::optional<Seconds> keeping = std::nullopt;   ///< `ReplanQuestion::keeping`
  std::optional<Seconds> changing = std::nullopt;  ///< likewise
  std::optional<Seconds> stall = std::nullopt;     ///< likewise
};

/// Answers what has been observed since the last window ended, or since the current plan began.
/// **Requires** of the answer: a plan without violations that its schedule can run, synchronous if the run is, with
/// as many microbatches in an iteration; a microbatch from `earliest` on and below `end`, before which a round of
/// turns, or an iteration, ends.
using Replanner = std::function<ReplanAnswer(const Observation&, const RunPosition&)>;

/// How a run goes over to another plan.
enum class Migrating : std::uint8_t {
  Live,      ///< while training goes on, if the answer wants that and `live_plan` finds a way; else as `StopCopy`
  StopCopy,  ///< the pipeline drains, then weights and optimizer state are copied
  Restart,   ///< the same, and training starts again: every device waits for `Replanning::restart`
};
[[nodiscard]] const char* to_string(Migrating migrating);

/// When a run asks for another plan: whenever a window of microbatches has entered the pipeline, and soon after the
/// bandwidth of a link or the memory of a device has changed or a device that the run has left is up again. It does not
/// ask while a plan of an earlier answer still waits for the current one to end, nor when it is too late for another
/// plan.
///
/// When a device of the plan is down, the run asks for a plan without it, and goes on with that one (`resumption`). It
/// waits for the device if there is none, or if state is lost and there is no checkpoint.
struct Replanning {
  std::function<Replanner()> start;  ///< makes the re-planner of a run, since a run may be simulated several times
  std::int64_t window = 256;         ///< microbatches, at least 1
  Migrating migrating = Migrating::StopCopy;
  Seconds restart = Seconds(0);  ///< of `Migrating::Restart`, and of going back to a checkpoint
  Seconds leave = Seconds(0);    ///< for which a device of the plan may be down before the run goes on without it
  std::optional<std::int64_t> checkpoint = std::nullopt;  ///< microbatches from one to the next, if there are any
  Seconds save = Seconds(0);                              ///< for which every device waits at each checkpoint (`Saves`)
};

/// Another model that is trained from a microbatch on, or the same one with another size of a microbatch. The plan that
/// runs drains, and the next one begins with that microbatch, or with the next one before which a round of turns, or an
/// iteration, ends: the plan that the re-planner answers, or else the one before, carried over (`carried_over`).
struct NextModel {
  std::int64_t microbatch = 0;              ///< of the run
  std::shared_ptr<const LayerGraph> graph;  ///< at the size of the microbatches from then on
};

/// An action at which a device waits for ever.
struct StuckAction {
  DeviceId device;
  Action action;
};

/// Orders that can never be carried out: devices wait for each other.
class Deadlock : public InputError {
 public:
  Deadlock(const std::string& message, const std::string& hint, std::vector<StuckAction> stuck)
      : InputError(message, {}, hint), stuck_(std::move(stuck)) {}
  /// **Shape** one for each device of the circle; without a circle, one for each device that waits.
  [[nodiscard]] const std::vector<StuckAction>& stuck() const { return stuck_; }

 private:
  std::vector<StuckAction> stuck_;
};

struct LowerOptions {
  NetworkModel network = NetworkModel::Platform;
  std::int64_t iterations = 1;  ///< flushed iterations of a synchronous schedule
  std::int64_t head = 0;        ///< least number of microbatches before the measured part of an asynchronous run
  /// On the analytic network the time of a transfer over each of the plan's boundaries (`chain_boundaries`), one way;
  /// empty: `channel_time`. It holds for the first plan of a run.
  std::vector<Seconds> channel_times;
  /// On the analytic network all-reduces take as long as on the platform's (`lowered_time`). It holds for
  /// the first plan of a run, too.
  bool lowered_all_reduces = false;
  std::optional<Schedule> literal;    ///< the orders of schedule `literal`, for one iteration
  std::size_t window_operations = 0;  ///< least size of a window; 0: chosen by the number of devices
  std::optional<Replanning> replanning;
  std::vector<NextModel> models;   ///< in the order of their microbatches, which differ
  std::int64_t report_window = 0;  ///< `Measurement::window`
};

/// A run, ready for an engine, and the part of it that its figures measure.
struct LoweredRun {
  OpSource source;
  Measurement measurement;
};

/// Turns a plan, whose schedule is compiled for the same graph and platform, into operations with seconds, bytes,
/// dependencies and memory deltas, window by window.
///
/// An operation has a larger number than all operations that it depends on, so the windows up to any point are the
/// beginning of a run that could take place. `graph` (at the plan's microbatch size) and `platform` must outlive the
/// source.
/// **Requires** literal orders that give devices work of their own stages only.
/// **Throws** InputError for an asynchronous run too short to measure (naming the least number of microbatches), for a
/// device kind of unknown speed, for an analytic boundary between replicas of which two are not connected, and from the
/// source a Deadlock.
/// **Cost** of the whole source O(operations); memory O(window + microbatches in flight).
[[nodiscard]] LoweredRun lower(const LayerGraph& graph, const Platform& platform, const ScheduleProgram& program,
                               const LowerOptions& options = {});

}  // namespace stagecraft
