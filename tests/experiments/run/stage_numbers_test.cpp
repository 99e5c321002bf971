#include "experiments/run/stage_numbers.hpp"

#include <doctest/doctest.h>

#include <vector>

namespace stagecraft {
namespace {

std::vector<StageId> ids(const std::vector<std::uint32_t>& numbers) { return {numbers.begin(), numbers.end()}; }

/// A run of three plans, with 3, 2 and 4 stages: the run counts 0 to 2, 3 and 4, 5 to 8.
Simulation three_plans() {
  Simulation simulation;
  for (std::uint32_t first : {3U, 5U}) {
    Replan replan;
    replan.first_stage = StageId(first);
    simulation.report.course.replans.push_back(replan);
  }
  return simulation;
}

}  // namespace

TEST_CASE("stage numbers: each plan of a run counts its stages from 0") {
  const Report report = three_plans().report;
  const std::vector<std::uint32_t> expected{0, 1, 2, 0, 1, 0, 1, 2, 3};
  for (std::uint32_t stage = 0; stage < expected.size(); ++stage) {
    CHECK(stage_in_plan(report, StageId(stage)) == StageId(expected[stage]));
  }
  CHECK(stage_in_plan(report, StageId::none()).is_none());
}

TEST_CASE("stage numbers: a device that keeps its stage in a later plan names it once") {
  Simulation simulation = three_plans();
  simulation.report.devices.resize(2);
  simulation.report.devices[0].stages = ids({1, 4, 6});
  simulation.report.devices[1].stages = ids({2, 3, 8});
  number_stages_by_plan(simulation);
  CHECK(simulation.report.devices[0].stages == ids({1}));
  CHECK(simulation.report.devices[1].stages == ids({2, 0, 3}));
}

TEST_CASE("stage numbers: the bottleneck, the timeline and the traffic name stages of their plans") {
  Simulation simulation = three_plans();
  simulation.report.bottleneck = Bottleneck{.stage = StageId(7)};
  simulation.record.timeline.resize(2);
  simulation.record.timeline[0].stage = StageId(4);
  simulation.record.timeline[1].stage = StageId::none();
  simulation.traffic.flows = {{.cause = {OpKind::Activation, StageId(3), StageId::none()}, .bytes = 1.0},
                              {.cause = {OpKind::SwapOut, StageId(2), StageId(2)}, .bytes = 2.0}};
  number_stages_by_plan(simulation);
  CHECK(simulation.report.bottleneck->stage == StageId(2));
  CHECK(simulation.record.timeline[0].stage == StageId(1));
  CHECK(simulation.record.timeline[1].stage.is_none());
  for (const Flow& flow : simulation.traffic.flows) {
    CHECK(flow.cause.from == StageId(flow.cause.kind == OpKind::SwapOut ? 2 : 0));
  }
}

TEST_CASE("stage numbers: a run of one plan stays as it is") {
  Simulation simulation;
  simulation.report.devices.resize(1);
  simulation.report.devices[0].stages = ids({1, 4});
  number_stages_by_plan(simulation);
  CHECK(simulation.report.devices[0].stages == ids({1, 4}));
}

}  // namespace stagecraft
