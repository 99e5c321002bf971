#include "planners/planner.hpp"

namespace stagecraft {

const char* to_string(MemoryPolicy policy) {
  switch (policy) {
    case MemoryPolicy::Keep: return "keep";
    case MemoryPolicy::Recompute: return "recompute";
    case MemoryPolicy::Swap: return "swap";
    case MemoryPolicy::Cheapest: break;
  }
  return "cheapest";
}

bool may_recompute(MemoryPolicy policy) {
  return policy == MemoryPolicy::Recompute || policy == MemoryPolicy::Cheapest;
}

bool may_swap(MemoryPolicy policy) { return policy == MemoryPolicy::Swap || policy == MemoryPolicy::Cheapest; }

Options parse_options(const PlannerInfo& planner, const GivenOptions& given) {
  return parse_options("planner '" + planner.name + "'", planner.options, given,
                       planner.takes_any_option ? UnknownOptions::Taken : UnknownOptions::Refused);
}

bool wants_judge(const PlannerInfo& planner, const Options& options) {
  return planner.wants_judge && planner.wants_judge(options);
}

std::vector<LayerId> layers_in(const std::vector<LayerId>& order, std::size_t begin, std::size_t end) {
  return {order.begin() + static_cast<std::ptrdiff_t>(begin), order.begin() + static_cast<std::ptrdiff_t>(end)};
}

Plan empty_plan(const PlannerInfo& planner, const PlanRequest& request) {
  Plan plan;
  plan.planner = planner.name;
  plan.model = request.graph.name;
  plan.platform = request.platform.spec.name;
  plan.microbatch_size = request.graph.microbatch_size;
  plan.microbatches = request.microbatches;
  plan.schedule = request.schedule;
  plan.training = request.training;
  return plan;
}

}  // namespace stagecraft
