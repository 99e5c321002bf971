#pragma once

#include "experiments/run/judge.hpp"
#include "sim/model/given_orders.hpp"
#include "sim/model/plan.hpp"
#include "sim/model/platform.hpp"
#include "sim/model/schedule.hpp"
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

/// The value of `--sends`; none if the option is not given. **Throws** InputError for an unknown rule.
[[nodiscard]] std::optional<Transfers> read_sends_option(const std::optional<std::string>& text);

/// What the user says of the orders of a run.
struct OrderOptions {
  std::optional<std::string> schedule_file;
  std::optional<std::string> transfers;
};

/// **Throws** InputError if the user gives orders to a run whose plan may change.
void refuse_changed_orders(const OrderOptions& options, bool replans);

/// The orders that the user gives: those of the schedule file, or those of the plan's schedule for one iteration, with
/// the rule for transfers. None if there are neither. Adds a finding for each reason why they do not fit the plan.
/// **Throws** InputError as `read_order_file`, and for an unknown rule or a schedule without iterations.
[[nodiscard]] std::optional<GivenOrders> given_orders(const OrderOptions& options, const LayerGraph& graph,
                                                      const Platform& platform, const ScheduleProgram& program,
                                                      std::vector<Finding>& findings);

/// The orders of the plan's schedule for one iteration, with the rule for transfers. **Throws** InputError for a
/// schedule without iterations or without such orders (`with_transfers`), and for orders that deadlock under the rule.
[[nodiscard]] Schedule orders_under(Transfers rule, const LayerGraph& graph, const Platform& platform,
                                    const ScheduleProgram& program);

}  // namespace stagecraft
