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

/// What a planner is asked. It outlives neither the graph nor the platform.
struct PlanRequest {
  const LayerGraph& graph;  ///< already at the microbatch size that is planned for
  const Platform& platform;
  ScheduleChoice schedule;
  std::int64_t microbatches = 1;
  Training training;
  Options options;
};

struct Planned {
  Plan plan;
  Detail::Record details;               ///< figures of this planner alone, documented on its page
  std::vector<std::string> notes = {};  ///< what the user should know of the plan, a sentence each
};

/// How the least memory with which a planner finds a plan is searched for, where the planner does not know it: by
/// asking again on devices with more memory (`plan_explained`). What is reserved counts.
struct MemorySearch {
  Bytes start;  ///< of every device: asked first, then twice as much, and so on
  /// Whether there is a plan for a request, where the planner can tell more quickly than by planning.
  std::function<bool(const PlanRequest&)> finds = {};
};

/// No plan: an answer, not an error.
struct Infeasible {
  std::string reason;
  std::optional<DeviceId> device;      ///< where it did not fit
  std::optional<std::uint32_t> stage;  ///< or which stage, counted from 0
  Bytes excess;                        ///< by how much
  std::string hint;                    ///< what else might help, where the planner can tell
  /// The least memory (what is reserved included) with which the planner finds a plan if no device has less.
  std::optional<Bytes> smallest_memory = std::nullopt;
  /// Where the planner does not know the least memory, but more memory may help and planning again takes no time to
  /// speak of.
  std::optional<MemorySearch> search = std::nullopt;
  /// The request took so much work that asking again for other sizes would keep the user waiting. Depends on the
  /// request alone, never on a clock.
  bool is_costly = false;
};

using PlanResult = std::variant<Planned, Infeasible>;

/// A planner is a function described by a value.
struct PlannerInfo {
  std::string name;
  std::string summary;
  std::string source;            ///< authors and year, or where the rule comes from
  std::string default_schedule;  ///< empty: it depends on the plan
  std::vector<OptionInfo> options;
  /// **Requires** an acyclic graph with at least one layer, a platform with at least one device, microbatches > 0, and
  /// options parsed with this table. **Throws** InputError for a request the planner does not take.
  std::function<PlanResult(const PlanRequest&)> plan;
  bool only_by_name = false;  ///< for small graphs: compared where it is asked for, not by default
  /// Options that are not in the table are handed on: `true`, `false` and numbers as such, all else as words.
  bool takes_any_option = false;
};

/// The options given to the planner, with the defaults of its table. **Throws** as its namesake for a table.
[[nodiscard]] Options parse_options(const PlannerInfo& planner, const GivenOptions& given);

/// Layers [begin, end) of an order.
[[nodiscard]] std::vector<LayerId> layers_in(const std::vector<LayerId>& order, std::size_t begin, std::size_t end);

/// A plan without stages, filled in from the request.
[[nodiscard]] Plan empty_plan(const PlannerInfo& planner, const PlanRequest& request);

}  // namespace stagecraft
