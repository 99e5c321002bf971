#include "experiments/run/stage_numbers.hpp"

#include <algorithm>
#include <vector>

namespace stagecraft {
namespace {

/// In the order in which the device had them, each once.
std::vector<StageId> in_plans(const Report& report, const std::vector<StageId>& stages) {
  std::vector<StageId> numbers;
  for (StageId stage : stages) {
    const StageId number = stage_in_plan(report, stage);
    if (std::ranges::count(numbers, number) == 0) numbers.push_back(number);
  }
  return numbers;
}

}  // namespace

StageId stage_in_plan(const Report& report, StageId stage) {
  if (stage.is_none()) return stage;
  StageId first(0);
  for (const Replan& replan : report.course.replans) {
    if (replan.first_stage <= stage) first = std::max(first, replan.first_stage);
  }
  return StageId(stage.value() - first.value());
}

void number_stages_by_plan(Simulation& simulation) {
  Report& report = simulation.report;
  if (report.course.replans.empty()) return;
  for (DeviceReport& device : report.devices) device.stages = in_plans(report, device.stages);
  if (report.bottleneck) report.bottleneck->stage = stage_in_plan(report, report.bottleneck->stage);
  for (TimelineEntry& entry : simulation.record.timeline) entry.stage = stage_in_plan(report, entry.stage);
  for (Flow& flow : simulation.traffic.flows) {
    flow.cause.from = stage_in_plan(report, flow.cause.from);
    flow.cause.to = stage_in_plan(report, flow.cause.to);
  }
  std::ranges::sort(simulation.traffic.flows);
}

}  // namespace stagecraft
