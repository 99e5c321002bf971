#pragma once

#include "experiments/run/external_planner.hpp"
#include "experiments/run/replan_policy.hpp"
#include "planners/planner.hpp"
#include "sim/model/observation.hpp"
#include "sim/model/options.hpp"
#include "sim/model/platform.hpp"
#include "sim/schedule/lower.hpp"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

namespace stagecraft {

/// Which planner is asked for another plan while training runs, and when.
struct ReplanChoices {
  std::string name;  ///< as the user writes it
  std::shared_ptr<const PlannerInfo> planner;
  GivenOptions options;  ///< of the planner
  std::int64_t window = 256;
  ReplanPolicy policy;
  Migrating migrating = Migrating::StopCopy;
  Seconds restart = {};  ///< of `Migrating::Restart`
};

/// Reads `none`, or `PLANNER[,KEY=VALUE…]` with the keys `window`, `migrate`, `restart` and those of the policy, and the
/// planner's options. A relative path of `exec:PATH` starts at `folder`, as for `resolve_planner`. None for `none`.
/// **Throws** InputError naming `option`.
[[nodiscard]] std::optional<ReplanChoices> read_replan_option(const std::string& option, const std::string& text,
                                                              const ExternalCalls& calls = {},
                                                              const std::string& folder = {});

/// The platform with the speeds of its devices and the bandwidths of its links as a running training has observed them.
[[nodiscard]] Platform as_observed(Platform platform, const Observation& seen);

/// Asks the planner for a plan with the schedule, the microbatches and, unless its options say otherwise, as many stages
/// and replicas as the plan that runs. The answer replaces that plan if it fits in memory and saves enough by the policy,
/// both evaluated without contention on the platform as observed; or if the plan that runs does not fit.
/// `platform` must outlive it. The re-planner **throws** InputError as the planner does.
[[nodiscard]] Replanning replanning(const Platform& platform, const ReplanChoices& choices);

}  // namespace stagecraft
