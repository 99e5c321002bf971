#pragma once

#include "sim/model/schedule.hpp"
#include "sim/schedule/kept_plan.hpp"
#include "sim/schedule/list/list_run.hpp"
#include "sim/schedule/list/pipeline_work.hpp"
#include "sim/schedule/schedule_program.hpp"

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

namespace stagecraft {

/// The rule of `order_by_list` with which an iteration of a synchronous plan takes least (`order_time`); none if the
/// rounds of `order_by_rounds` take no longer. All four rules are tried under the caps and under caps limited to
/// smaller numbers: up to eight evenly spaced ones, as many as a million operations allow, the caps themselves always.
/// In a tie the smallest limit wins. A plan of more than 512 microbatches chooses among the rules by its first 512, and
/// compares with the rounds in full. So no plan is slower than by rounds.
/// **Requires** caps of at least 1, and the work of `pipeline_work` with updates.
/// **Cost** of about a million operations, and of two orders of the whole plan.
[[nodiscard]] std::optional<ListRule> fastest_list(const std::shared_ptr<const KeptPlan>& kept,
                                                   const std::shared_ptr<const PipelineWork>& work,
                                                   const std::vector<std::int64_t>& caps);

/// Orders of a synchronous plan whose devices hold several stages: by `fastest_list`, which is asked when the first
/// orders are, or else by rounds. A function for `ScheduleProgram::orders` with all orders in the first segment.
class SharedOrders {
 public:
  /// **Requires** as `fastest_list`.
  SharedOrders(std::shared_ptr<const KeptPlan> kept, std::shared_ptr<const PipelineWork> work,
               std::vector<std::int64_t> caps);
  [[nodiscard]] Schedule operator()(Segment segment) const;

 private:
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace stagecraft
