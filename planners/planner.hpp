#pragma once

#include "sim/base/index.hpp"
#include "sim/base/quantity.hpp"
#include "sim/model/detail.hpp"
#include "sim/model/layer_graph.hpp"
#include "sim/model/options.hpp"
#include "sim/model/plan.hpp"
#include "sim/model/platform.hpp"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace stagecraft {

/// What a plan that does not fit may do with the stash of its layers.
enum class MemoryPolicy : std::uint8_t {
  Keep,       ///< nothing
  Recompute,  ///< make it again
  Swap,       ///< bring it to the host
  Cheapest,   ///< both, whatever takes the least time
};
[[nodiscard]] const char* to_string(MemoryPolicy policy);
[[nodiscard]] bool may_recompute(MemoryPolicy policy);
[[nodiscard]] bool may_swap(MemoryPolicy policy);

/// What an iteration of a plan takes.
struct Verdict {
  Seconds time;      ///< `kNever` if its devices would wait for each other, or its schedule refuses it
  bool fits = true;  ///< in the memory of all devices and hosts
  friend bool operator==(const Verdict&, const Verdict&) = default;
};

/// Runs plans of a request for a planner that decides by runs. Planners do not replay themselves, since that takes a
/// process; who asks them hands this in. Plans are for the devices that the planner sees, as its answer.
struct Judge {
  /// Without contention, and no less than the plan's own lower bound; with exclusive links the bound alone, since turns
  /// may change. Where the orders of work are fixed, no longer than `replay`. **Cost** that of an evaluation.
  std::function<Verdict(const Plan&)> evaluate;
  /// With contention, as `simulate` runs the plan. **Cost** that of a replay, with its process.
  std::function<Verdict(const Plan&)> replay;
};

/// A request to a planner. The graph and the platform must outlive it.
struct PlanRequest {
  const LayerGraph& graph;  ///< already at the microbatch size that is planned for
  const Platform& platform;
  ScheduleChoice schedule;
  std::int64_t microbatches = 1;
  Training training;
  Options options;
  /// Samples whose gradients one update is to sum up. Of a flushed schedule they are those of `microbatches`; of an
  /// asynchronous one the plan's number of rounds per update is set when the plan is known.
  std::optional<std::int64_t> samples_per_update = std::nullopt;
  MemoryPolicy memory = MemoryPolicy::Keep;  ///< of `plan_within_memory`, and of planners that save memory
  /// Whether only the numbers of stages and replicas are asked for, by a planner that cuts and saves memory itself.
  /// Then no memory that is left is used, and a shape has other cuts than its first only if nothing makes that fit.
  bool only_shape = false;
  /// Pipelines side by side that are to have the plan (`plan_side_by_side`): the replicas of a stage in all of them
  /// divide what `Training::zero` says.
  std::int64_t pipelines = 1;
  const Plan* running = nullptr;  ///< the plan that the answer may replace while training runs; it outlives the request
  const Judge* judge = nullptr;   ///< of its plans, where runs can be made while planning; it outlives the request
};

struct Planned {
  Plan plan;
  Detail::Record details;               ///< figures that only this planner has, documented on its page
  std::vector<std::string> notes = {};  ///< sentences about the plan for the user
  /// About how many nanoseconds planning took, by the sizes of its loops and never by a clock; 0 if it was quick.
  double work = 0.0;
  /// Whether the plan has memory actions, and the common memory policy chose them (`with_savings`), not the planner.
  bool saved_by_policy = false;
  /// Whether the plan's claim is the time that a judge's replay has taken.
  bool is_replayed = false;
};

/// How to search for the least memory with which a planner finds a plan, if the planner does not know it:
/// `plan_explained` asks again for devices with more memory. Memory includes the reserved part.
struct MemorySearch {
  Bytes start;  ///< of every device; the search begins with it and doubles it
  /// Whether there is a plan for a request, if the planner can tell that more quickly than by planning.
  std::function<bool(const PlanRequest&)> finds = {};
};

/// No plan: an answer, not an error.
struct Infeasible {
  std::string reason;
  std::optional<DeviceId> device;      ///< the device whose memory does not suffice
  std::optional<std::uint32_t> stage;  ///< the stage on it, counted from 0
  Bytes excess;                        ///< the memory that is lacking
  std::string hint;                    ///< what else might help, if the planner can tell
  /// The least memory (the reserved part included) with which the planner finds a plan if no device has less.
  std::optional<Bytes> smallest_memory = std::nullopt;
  /// Set if the planner does not know the least memory, more memory may help, and planning again is quick.
  std::optional<MemorySearch> search = std::nullopt;
  /// Whether planning took so much work that planning again for other microbatch sizes would keep the user waiting.
  /// Depends on the request alone, never on a clock.
  bool is_costly = false;
  /// How many smaller microbatch sizes to try one by one, because a smaller one may lead to a plan that needs more
  /// memory. 0: a size fits if a larger one does.
  std::int64_t sizes_to_try = 0;
  double work = 0.0;  ///< as in `Planned`
  /// If a microbatch has too few samples: the fewest with which there may be a plan. 0: a larger one does not help.
  std::int64_t fewest_samples = 0;
};

using PlanResult = std::variant<Planned, Infeasible>;

/// Options with values for what a request leaves to its planner: `plan_within_memory` asks for plans with them.
struct Variants {
  std::vector<Options> tried;      ///< the answer is the fastest of their plans; none: that for the request as it is
  std::vector<Options> otherwise;  ///< one after another until one has a plan, if none of those has
};

/// A planner is a function described by a value.
struct PlannerInfo {
  std::string name;
  std::string summary;
  std::string source;            ///< authors and year, or the origin of the method
  std::string default_schedule;  ///< empty: the planner chooses it with the plan
  std::vector<OptionInfo> options;
  /// **Requires** an acyclic graph with at least one layer, a platform with at least one device, microbatches > 0, and
  /// options parsed with this table. **Throws** InputError for a request that the planner does not support.
  std::function<PlanResult(const PlanRequest&)> plan;
  bool only_by_name = false;  ///< `compare` uses it only if it is named, for example because it is for small graphs
  /// Options that are not in the table are passed on: `true`, `false` and numbers as such, all others as words.
  bool takes_any_option = false;
  bool saves_memory = false;    ///< it chooses memory actions itself, of those that `PlanRequest::memory` allows
  bool cuts_by_memory = false;  ///< it searches for cuts that fit
  bool levels_devices = false;  ///< it takes all devices for as fast as the slowest one
  /// The order of turns of its plans is meant as it is, as a program's of the user's; for other planners
  /// `with_ordered_turns` chooses it, and `with_level_shares` how many microbatches each replica runs.
  bool orders_turns = false;
  /// Whether with these options it refuses requests without `PlanRequest::judge`. Empty: never.
  std::function<bool(const Options&)> wants_judge = {};
  /// True only if there is a plan for the request, in much less time than planning takes; false where only planning
  /// tells. May be empty.
  std::function<bool(const PlanRequest&)> surely_plans = {};
  /// What the options leave to the planner, but its `plan` does not choose. May be empty. **Throws** as `plan`.
  std::function<Variants(const PlanRequest&)> variants = {};
};

/// The options given to the planner, with the defaults of its table. **Throws** as the `parse_options` of a table.
[[nodiscard]] Options parse_options(const PlannerInfo& planner, const GivenOptions& given);

/// `PlannerInfo::wants_judge` of the options.
[[nodiscard]] bool wants_judge(const PlannerInfo& planner, const Options& options);

/// Layers [begin, end) of an order.
[[nodiscard]] std::vector<LayerId> layers_in(const std::vector<LayerId>& order, std::size_t begin, std::size_t end);

/// A plan without stages; all other fields are filled in from the request.
[[nodiscard]] Plan empty_plan(const PlannerInfo& planner, const PlanRequest& request);

}  // namespace stagecraft
