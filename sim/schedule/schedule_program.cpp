#include "sim/schedule/schedule_program.hpp"

#include "sim/schedule/kept_plan.hpp"

namespace stagecraft {

std::vector<StageProgram> stage_programs(const PlanContext& context) {
  std::vector<StageProgram> programs;
  for (const Stage& stage : context.plan.stages) programs.push_back(stage_program(context.graph, stage));
  return programs;
}

}  // namespace stagecraft
