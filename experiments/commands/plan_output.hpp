#pragma once

#include "experiments/commands/verb.hpp"
#include "experiments/run/planning.hpp"
#include "experiments/run/settings.hpp"
#include "sim/model/layer_graph.hpp"
#include "sim/model/plan.hpp"
#include "sim/model/platform.hpp"

#include <optional>
#include <string>

namespace stagecraft {

/// Writes the plan to the file, as JSON if its name ends in .json. **Throws** InputError if it cannot be written.
void write_plan(const std::string& output, const Plan& plan, const LayerGraph& graph, const Platform& platform);

/// The answer, after the plan has been written to the file that the user names with --output, as JSON if its name ends
/// in .json. With `-` the plan itself is what the answer prints; what it would have printed is said if there is no
/// plan.
/// **Throws** InputError if the file cannot be written.
[[nodiscard]] Answer with_plan_written(const std::optional<std::string>& output, const Planning& planning,
                                       const Platform& platform, const Settings& settings, Answer answer);

/// The same of a plan that there is, and of which `graph` has the layers.
[[nodiscard]] Answer with_plan_written(const std::string& output, const Plan& plan, const LayerGraph& graph,
                                       const Platform& platform, Answer answer);

}  // namespace stagecraft
