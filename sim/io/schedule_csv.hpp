#pragma once

#include "sim/model/given_orders.hpp"
#include "sim/model/plan.hpp"
#include "sim/model/platform.hpp"

#include <string>
#include <string_view>

namespace stagecraft {

/// The orders of a table of `torch.distributed.pipelining` (docs/reference/formats/schedule.md): a row for each rank, a
/// field for each step. A rank is the device on which the plan has the stages of its row. With sends or receives the
/// transfers are explicit. Whether the orders do the plan's work is checked by `check_schedule`.
/// **Requires** a plan without violations, memory apart.
/// **Throws** InputError naming the line, the rank and the step of the first defect, and for a plan whose stages are
/// each on several devices or in several pipelines.
/// **Cost** O(text + actions log actions).
[[nodiscard]] GivenOrders parse_schedule_csv(std::string_view text, const std::string& file_name, const Plan& plan,
                                             const Platform& platform);

/// The same table of orders: with its idle slots if they are of a table without sends and receives, else without any.
/// Rows are in the order of the table, or else in that of their first stages. Lines end as Python's writer ends them.
/// **Throws** InputError for what such a table cannot say. **Cost** O(actions).
[[nodiscard]] std::string write_schedule_csv(const GivenOrders& orders, const Plan& plan);

}  // namespace stagecraft
