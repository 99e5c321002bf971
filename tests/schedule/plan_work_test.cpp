#include "sim/schedule/plan_work.hpp"

#include "sim/base/error.hpp"
#include "sim/schedule/kept_plan.hpp"
#include "sim/schedule/schedule_family.hpp"
#include "tests/random_cases.hpp"
#include "tests/schedule/random_plans.hpp"

#include <doctest/doctest.h>

#include <cstdint>
#include <set>
#include <vector>

namespace stagecraft::plan_work_test {
namespace {

using namespace stagecraft::testing;

/// The backwards of all different programs.
std::vector<std::vector<BackwardStep>> backwards(const TurnPrograms& programs) {
  std::vector<std::vector<BackwardStep>> all;
  for (const StageProgram& program : programs.different()) all.push_back(program.backward);
  return all;
}

}  // namespace

TEST_CASE("plan work: each replica has the programs of its own device and share, 100 random plans") {
  for (std::uint32_t seed = 1; seed <= random_cases(100U); ++seed) {
    CAPTURE(seed);
    RandomCase made = random_case(seed);
    if (seed % 2 == 0) made.plan.training.gradient_bucket = Bytes(1'000);
    const KeptPlan kept(made.graph, made.platform, made.plan);
    for (const ReplicaId id : kept.replicas.all()) {
      const Replica& replica = kept.replicas[id];
      const Stage& stage = kept.plan.stages[replica.stage.value()];
      const ReplicaWork& work = (*kept.work)[id];
      CHECK(work.programs.different() ==
            ReplicaTurns(made.graph, made.platform, stage).of(replica.device, replica.share).different());
      const StageBuckets buckets = kept.work->rings().of(replica.stage);
      if (kept.plan.training.bucket() == Bytes(0) || buckets.gradients.empty()) {
        CHECK(work.in_buckets.empty());
      } else {
        CHECK(work.in_buckets ==
              backwards(ReplicaTurns(made.graph, made.platform, stage, buckets).of(replica.device, replica.share)));
      }
    }
    CHECK_NOTHROW(kept.work->require_times());
  }
}

TEST_CASE("plan work: replicas of a stage on devices alike have one work, and one that is slowed down its own") {
  Plan plan = straight(1, 8, "1f1b");
  for (const std::uint32_t device : {1U, 2U, 3U}) plan.stages[0].replicas.emplace_back(DeviceId(device));
  plan.stages[0].replication = Replication::RoundRobin;
  const LayerGraph graph = chain(1, 1, 2);
  Platform platform = pairwise(4);
  const auto different = [&] {
    const KeptPlan kept(graph, platform, plan);
    std::set<const ReplicaWork*> works;
    for (const ReplicaId id : kept.replicas.all()) works.insert(&(*kept.work)[id]);
    return works.size();
  };
  CHECK(different() == 1);
  platform.devices[DeviceId(2)].slowdown = 1.5;
  CHECK(different() == 2);
}

TEST_CASE("plan work: without the speed of a device bytes are known, and times are asked for in vain") {
  const Plan plan = straight(2, 8, "1f1b");
  LayerGraph graph = chain(2, 1, 2, 0, 7, 5);
  const Platform platform = pairwise(2);
  const KeptPlan known(graph, platform, plan);
  graph.device_kind = "another";
  const KeptPlan unknown(graph, platform, plan);
  for (const ReplicaId id : unknown.replicas.all()) {
    CHECK((*unknown.work)[id].programs.parameters() == (*known.work)[id].programs.parameters());
    CHECK((*unknown.work)[id].programs.stashes(1) == (*known.work)[id].programs.stashes(1));
  }
  CHECK_THROWS_AS(unknown.work->require_times(), InputError);
}

TEST_CASE("plan work: a plan with another number of microbatches keeps it, one with other stages does not") {
  const LayerGraph graph = chain(3, 1, 2);
  const Platform platform = pairwise(2);
  Plan plan = straight(2, 8, "1f1b");
  plan.stages[1].layers.push_back(LayerId(2));
  const ScheduleProgram program = require_schedule(graph, platform, plan);
  plan.microbatches = 100;
  const ScheduleProgram longer = recompiled(graph, platform, program, plan);
  CHECK(longer.kept->work == program.kept->work);
  plan.stages[0].layers.push_back(LayerId(1));
  plan.stages[1].layers = {LayerId(2)};
  CHECK(recompiled(graph, platform, longer, plan).kept->work != program.kept->work);
}

}  // namespace stagecraft::plan_work_test
