#pragma once

#include "sim/io/plan_file.hpp"
#include "sim/model/layer_graph.hpp"
#include "sim/model/platform.hpp"
#include "sim/model/report.hpp"
#include "sim/model/schedule.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace stagecraft {

struct Plan;

/// What is wrong with a plan: a rule it breaks, and how.
struct Finding {
  std::string rule;  ///< names, schedule, length, size, memory, or a rule of `check_plan`
  std::optional<std::uint32_t> stage;
  std::string message;
  friend bool operator==(const Finding&, const Finding&) = default;
};

/// All that keeps a plan from being run: unknown names, broken rules, a schedule that cannot carry it out, a run too
/// short to measure or too long to count.
[[nodiscard]] std::vector<Finding> judge_plan(const LayerGraph& graph, const Platform& platform,
                                              const PlanReading& reading);

/// What keeps literal orders from being orders of the plan. **Requires** a plan without findings.
[[nodiscard]] std::vector<Finding> judge_orders(const LayerGraph& graph, const Platform& platform, const Plan& plan,
                                                const Schedule& orders);

/// Refuses what `path` holds, saying `what` is wrong with it, the first finding and the number of the others.
/// **Throws** InputError unless there is none.
void refuse_findings(const std::string& path, const std::string& what, const std::vector<Finding>& findings,
                     const std::string& hint);

/// Memory that did not fit, one finding for each place.
[[nodiscard]] std::vector<Finding> memory_findings(const Report& report, const Platform& platform);

/// Why a run cannot be counted or carried out within reason, if so: more than 10^9 computations of one microbatch on
/// one stage, or memory of more than 1 EiB.
[[nodiscard]] std::optional<std::string> size_problem(const LayerGraph& graph, const Plan& plan,
                                                      std::int64_t iterations);

}  // namespace stagecraft
