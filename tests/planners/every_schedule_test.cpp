// Every planner is asked for every schedule: it has a plan that runs, or says in one sentence why not and what helps.
#include "planners/registry.hpp"
#include "planners/shared/savings/least_memory.hpp"
#include "sim/base/error.hpp"
#include "sim/schedule/schedule_family.hpp"
#include "tests/planners/saving_fixtures.hpp"
#include "tests/random_cases.hpp"

#include <doctest/doctest.h>

#include <cstdint>
#include <string>
#include <variant>

namespace stagecraft::every_schedule_test {

using namespace stagecraft::testing;

namespace {

/// Why there is no plan that runs; an empty message if there is one.
ScheduleRefusal refusal_of(const PlannerInfo& planner, const PlanRequest& request) {
  try {
    const PlanResult result = plan_explained(planner, request);
    if (const auto* none = std::get_if<Infeasible>(&result)) return {none->reason, none->hint};
    const Compilation compiled = compile_schedule(request.graph, request.platform, std::get<Planned>(result).plan);
    const auto* refusals = std::get_if<ScheduleRefusals>(&compiled);
    return refusals == nullptr ? ScheduleRefusal{} : refusals->front();
  } catch (const InputError& error) {
    return {error.message(), error.hint()};
  }
}

/// Without `literal`, whose orders come with the run.
template <class Each>
void for_every_schedule(Each each) {
  for (const ScheduleFamily* family : all_families()) {
    if (family->name != "literal") each(*family);
  }
}

}  // namespace

TEST_CASE("every schedule: each planner has a plan that runs, or says why not and what would do") {
  const LayerGraph graph = chain({1, 2, 1, 3, 1, 2, 1, 1});
  int plans = 0;
  int refusals = 0;
  int asked = 0;
  for (const std::size_t devices : {1, 3, 4}) {
    const Platform platform = flat_platform(devices, 1e6);
    for (const std::int64_t microbatches : {1, 7, 16}) {
      for_every_schedule([&](const ScheduleFamily& family) {
        for (const PlannerInfo* planner : all_planners()) {
          if (!draws_all() && ++asked % 5 != 0) continue;
          CAPTURE(devices);
          CAPTURE(microbatches);
          CAPTURE(family.name);
          CAPTURE(planner->name);
          const ScheduleRefusal refusal =
              refusal_of(*planner, request_for(*planner, graph, platform, family.name, microbatches));
          CAPTURE(refusal.message);
          ++(refusal.message.empty() ? plans : refusals);
          CHECK(refusal.message.empty() == refusal.hint.empty());
          CHECK(refusal.message.find('\n') == std::string::npos);
        }
      });
    }
  }
  CHECK(plans > (draws_all() ? 300 : 60));
  CHECK(refusals > (draws_all() ? 300 : 60));
}

TEST_CASE("every schedule: uniform and gpipe plan for it, as refusals of others say") {
  const LayerGraph graph = chain({1, 2, 1, 3, 1, 2, 1, 1});
  const Platform platform = flat_platform(4, 1e6);
  for_every_schedule([&](const ScheduleFamily& family) {
    for (const char* name : {"uniform", "gpipe"}) {
      CAPTURE(family.name);
      CAPTURE(name);
      const PlannerInfo& planner = find_planner(name);
      CHECK(refusal_of(planner, request_for(planner, graph, platform, family.name, 16)).message == "");
    }
  });
}

TEST_CASE("every schedule: two pipelines from both ends need an even number of devices") {
  const LayerGraph graph = chain({1, 1, 1, 1});
  const Platform one = flat_platform(1);
  const Platform three = flat_platform(3, 1e6);
  for (const char* schedule : {"dualpipe", "chimera"}) {
    CAPTURE(schedule);
    for (const char* name : {"uniform", "gpipe"}) {
      const PlannerInfo& planner = find_planner(name);
      const ScheduleRefusal refusal = refusal_of(planner, request_for(planner, graph, one, schedule, 8));
      CHECK(refusal.message == "planner '" + std::string(name) + "': schedule '" + schedule +
                                   "' needs an even number of devices, but there is one in the pipeline");
      const PlanResult result = plan_explained(planner, request_for(planner, graph, three, schedule, 8));
      REQUIRE(std::holds_alternative<Planned>(result));
      CHECK(std::get<Planned>(result).plan.stages.size() == 4);  // two of each direction, on two of three devices
    }
  }
}

}  // namespace stagecraft::every_schedule_test
