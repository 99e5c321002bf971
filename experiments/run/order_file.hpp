#pragma once

#include "sim/model/given_orders.hpp"
#include "sim/model/plan.hpp"
#include "sim/model/platform.hpp"

#include <string>

namespace stagecraft {

/// Gives a plan the schedule `literal`, for the orders of a file that replace its own schedule.
void expect_literal_orders(Plan& plan);

/// The orders of a file for a plan: a table of PyTorch, if its name ends in `.csv`, or a schedule file.
/// **Requires** a plan without violations. **Throws** InputError as `parse_schedule_csv` and `read_schedule_file`.
[[nodiscard]] GivenOrders read_order_file(const std::string& path, const Platform& platform, const Plan& plan);

}  // namespace stagecraft
