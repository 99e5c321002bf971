#pragma once

#include "experiments/run/judge.hpp"
#include "sim/model/given_orders.hpp"
#include "sim/model/plan.hpp"
#include "sim/model/platform.hpp"
#include "sim/schedule/schedule_program.hpp"

#include <optional>
#include <string>
#include <vector>

namespace stagecraft {

/// Gives a plan the schedule `literal`, for the orders of a file that replace its own schedule.
void expect_literal_orders(Plan& plan);

/// The orders of a file for a plan: a table of PyTorch, if its name ends in `.csv` or `.CSV`, or a schedule file.
/// **Requires** a plan without violations. **Throws** InputError as `parse_schedule_csv` and `parse_schedule`.
[[nodiscard]] GivenOrders read_order_file(const std::string& path, const Platform& platform, const Plan& plan);

/// What the user says of the orders of a run.
struct OrderOptions {
  std::optional<std::string> schedule_file;
  std::optional<std::string> transfers;
};

/// The orders that the user gives: those of the schedule file, or those of the plan's schedule for one iteration, with
/// the rule for transfers. None if there are neither. Adds a finding for each reason why they do not fit the plan.
/// **Throws** InputError as `read_order_file`, and for an unknown rule or a schedule without iterations.
[[nodiscard]] std::optional<GivenOrders> given_orders(const OrderOptions& options, const LayerGraph& graph,
                                                      const Platform& platform, const ScheduleProgram& program,
                                                      std::vector<Finding>& findings);

}  // namespace stagecraft
