#pragma once

#include "experiments/run/replan_policy.hpp"
#include "planners/planner.hpp"
#include "sim/model/options.hpp"
#include "sim/schedule/lower.hpp"

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace stagecraft {

/// Which planner is asked for another plan while training runs, and when.
struct ReplanChoices {
  std::string name;  ///< as the user writes it
  std::shared_ptr<const PlannerInfo> planner;
  GivenOptions options;                          ///< of the planner
  MemoryPolicy memory = MemoryPolicy::Cheapest;  ///< of the plans that it makes
  std::int64_t window = 256;
  ReplanPolicy policy;
  Migrating migrating = Migrating::StopCopy;
  std::optional<Seconds> restart = std::nullopt;          ///< `Replanning::restart`, if it is given
  Seconds leave = Seconds(10);                            ///< `Replanning::leave`
  std::optional<std::int64_t> checkpoint = std::nullopt;  ///< `Replanning::checkpoint`
  Seconds save = {};                                      ///< `Replanning::save`
};

/// The keys that say when a planner is asked, and what a change takes: all but the planner's options.
[[nodiscard]] const std::vector<std::string>& replan_keys();

/// Finds the planner of a name.
using PlannerOfName = std::function<std::shared_ptr<const PlannerInfo>(const std::string& name)>;

/// The planner's name in the text that `read_replan_option` reads; `none` if there is none.
[[nodiscard]] std::string planner_of_replan(const std::string& text);

/// Reads `none`, or `PLANNER[,KEY=VALUE…]` with `replan_keys()` and the planner's options. None for `none`.
/// **Throws** InputError naming `option`.
[[nodiscard]] std::optional<ReplanChoices> read_replan_option(const std::string& option, const std::string& text,
                                                              const PlannerOfName& planner_of);

}  // namespace stagecraft
