#include "planners/registry.hpp"

#include "planners/planner_table.hpp"
#include "sim/base/error.hpp"
#include "sim/base/text.hpp"

namespace stagecraft {

const std::vector<const PlannerInfo*>& all_planners() {
  static const std::vector<const PlannerInfo*> planners = {STAGECRAFT_PLANNER_TABLE};
  return planners;
}

const PlannerInfo& find_planner(const std::string& name) {
  std::vector<std::string> known;
  for (const PlannerInfo* planner : all_planners()) {
    if (planner->name == name) return *planner;
    known.push_back(planner->name);
  }
  throw InputError("there is no planner " + quote(name), {}, suggest_name(name, known));
}

}  // namespace stagecraft
