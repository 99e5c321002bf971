#include "experiments/view/ladder_view.hpp"

#include "experiments/view/figures.hpp"
#include "experiments/view/table.hpp"

#include <algorithm>
#include <utility>

namespace stagecraft {
namespace {

/// The part of a time that is above a bound.
double part_above(Seconds bound, Seconds time) { return std::max(0.0, 1.0 - bound / time); }

}  // namespace

Detail::Record ladder_record(const PlanLadder& ladder) {
  return {{"class", "contiguous flushed"},
          {"any_order_s", ladder.any_order.time.value()},
          {"any_plan_of_class_s", ladder.any_plan.value()},
          {"work_s", ladder.work.value()},
          {"over_any_plan_of_class", ladder.time / ladder.any_plan}};
}

std::string ladder_text(const PlanLadder& ladder, const Platform& platform) {
  Table table{.header = {"least possible", "time", "gain at most", "by"}, .rows = {}, .is_last_left = true};
  const auto add = [&](const std::string& of, Seconds bound, Seconds above, const std::string& by) {
    table.rows.push_back({of, time_or_dash(bound), percent(part_above(bound, above)), by});
  };
  const bool is_own = ladder.any_order.time > ladder.any_plan;
  add("this plan in any order", ladder.any_order.time, ladder.time,
      "another order of its work" +
          (is_own ? ", limited by " + bound_cause_text(ladder.any_order.cause, platform) : ""));
  add("any contiguous flushed plan", ladder.any_plan, ladder.any_order.time, "other cuts, replicas and devices");
  add("all devices always busy", ladder.work, ladder.any_plan, "other microbatches, links or memory");
  return to_text(table);
}

}  // namespace stagecraft
