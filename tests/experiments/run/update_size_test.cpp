#include "experiments/run/update_size.hpp"

#include "experiments/run/simulation.hpp"
#include "sim/base/error.hpp"
#include "sim/model/plan.hpp"
#include "sim/schedule/kept_plan.hpp"
#include "sim/schedule/schedule_family.hpp"
#include "tests/random_cases.hpp"
#include "tests/schedule/random_plans.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <map>
#include <string>
#include <utility>

namespace stagecraft {
namespace {

using testing::chain;
using testing::pairwise;
using testing::random_cases;
using testing::straight;

Plan updating(const Plan& plan, std::int64_t samples) {
  const LayerGraph graph = chain(2, 1, 2);
  const Platform platform = pairwise(3);
  return with_samples_per_update(graph, platform, require_schedule(graph, platform, plan), samples).kept->plan;
}

std::string refusal(const Plan& plan, std::int64_t samples) {
  try {
    static_cast<void>(updating(plan, samples));
  } catch (const InputError& error) {
    return error.hint();
  }
  return "";
}

TEST_CASE("update size: sets the microbatches of an iteration, or the rounds of an update") {
  Plan plan = straight(2, 30, "1f1b");
  plan.microbatch_size = 8;
  plan.predicted.iteration_time = Seconds(1);
  plan = updating(plan, 240);
  CHECK(plan.predicted.iteration_time);  // it is as it was
  plan = updating(plan, 80);
  CHECK(plan.microbatches == 10);
  CHECK(!plan.predicted.iteration_time);
  CHECK(refusal(plan, 81) == "the nearest multiples: 80 and 88");
  CHECK(refusal(plan, 7) == "the nearest multiples: 8");

  plan.schedule.name = "pipedream";
  plan.stages[0].replicas = {DeviceId(0), DeviceId(2)};
  plan.predicted.period = Seconds(1);
  plan = updating(plan, 16);  // a round of stage 0 has 2 microbatches
  CHECK(plan.rounds_per_update == 1);
  CHECK(plan.predicted.period);
  plan = updating(plan, 160);
  CHECK(plan.rounds_per_update == 10);
  CHECK(!plan.predicted.period);
  CHECK(plan.microbatches == 2 * 20 + 20 + 1);  // discards 10 at each end, rounded up to 20, and needs one stride
  CHECK(refusal(plan, 24) == "the nearest multiples: 16 and 32");
}

/// Bytes that each pair of devices exchanges per microbatch, in each direction; counted from the plan alone.
std::map<std::pair<DeviceId, DeviceId>, double> bytes_per_microbatch(const LayerGraph& graph, const Plan& plan) {
  std::map<std::pair<DeviceId, DeviceId>, double> bytes;
  for (std::size_t s = 0; s < plan.stages.size(); ++s) {
    const Stage& stage = plan.stages[s];
    const auto devices = devices_of(stage);
    double parameters = 0.0;
    for (LayerId layer : stage.layers) parameters += static_cast<double>(graph.layers[layer].parameters.value());
    const auto r = static_cast<double>(devices.size());
    for (std::size_t i = 0; i < devices.size() && devices.size() > 1; ++i) {  // one all-reduce in r microbatches
      bytes[{devices[i], devices[(i + 1) % devices.size()]}] += 2 * (r - 1) / r * parameters / r;
    }
    if (s + 1 == plan.stages.size() || devices.size() > 1 || plan.stages[s + 1].replicas.size() > 1) continue;
    const auto crossing = static_cast<double>(graph.layers[stage.layers.back()].output.value());
    bytes[{devices.front(), plan.stages[s + 1].replicas.front().lead()}] += crossing;
    bytes[{plan.stages[s + 1].replicas.front().lead(), devices.front()}] += crossing;
  }
  return bytes;
}

TEST_CASE("least period: at least the busiest link's, and no converged replay is below it") {
  int bound_by_links = 0;
  for (int seed = 1; seed <= random_cases(300); ++seed) {
    CAPTURE(seed);
    testing::RandomCase random =
        testing::random_case(static_cast<std::uint32_t>(seed), {.allow_swap = false, .traffic = 8.0});
    for (Stage& stage : random.plan.stages) stage.replication = Replication::RoundRobin;
    random.plan.schedule.name = "pipedream";
    const ScheduleProgram program = require_schedule(random.graph, random.platform, random.plan);
    random.plan.microbatches = least_microbatches(program, Replicas(random.plan));
    const Simulation simulation = simulate_program(
        random.graph, random.platform, require_schedule(random.graph, random.platform, random.plan), {}, Settings());
    REQUIRE(simulation.load.least_period);
    const double least = simulation.load.least_period->value();
    double devices = 0.0;
    for (const auto& [device, load] : simulation.load.devices) devices = std::max(devices, load.value());
    CHECK(least >= devices);
    double links = 0.0;
    Route route;
    for (const auto& [pair, bytes] : bytes_per_microbatch(random.graph, random.plan)) {
      REQUIRE(
          find_route(random.platform, random.platform.place(pair.first), random.platform.place(pair.second), route));
      links = std::max(links, bytes / random.platform.links[route.links.front()].bandwidth.value());
    }
    CHECK(least >= links * (1.0 - 1e-6));
    bound_by_links += links > devices ? 1 : 0;
    if (simulation.report.converged()) CHECK(simulation.report.period->value() >= least * (1.0 - 1e-3));
  }
  CHECK(bound_by_links > 0);
}

}  // namespace
}  // namespace stagecraft
