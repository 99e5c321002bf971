#include "sim/model/replicas.hpp"

#include "sim/model/plan.hpp"

#include <doctest/doctest.h>

namespace stagecraft {
namespace {

std::vector<ReplicaId> ids(std::initializer_list<int> numbers) {
  std::vector<ReplicaId> result;
  for (int number : numbers) result.emplace_back(number);
  return result;
}

std::vector<ReplicaId> listed(std::span<const ReplicaId> replicas) { return {replicas.begin(), replicas.end()}; }

/// Stage 0 alternates between gpu3, gpu1 and gpu2; stage 1 divides its microbatches between gpu0 and gpu3.
Plan plan() {
  Plan plan;
  plan.stages.resize(2);
  plan.stages[0].layers = {LayerId(0)};
  plan.stages[0].replicas = {DeviceId(3), DeviceId(1), DeviceId(2)};
  plan.stages[0].ring = {1, 2, 0};
  plan.stages[1].layers = {LayerId(1)};
  plan.stages[1].replicas = {DeviceId(0), DeviceId(3)};
  plan.stages[1].replication = Replication::Split;
  return plan;
}

}  // namespace

TEST_CASE("replicas: whole microbatches alternate in the order of turns, divided ones go to all") {
  const Replicas replicas(plan());
  CHECK(listed(replicas.of(StageId(0))) == ids({0, 1, 2}));
  CHECK(listed(replicas.runners(StageId(0), 4)) == ids({1}));
  CHECK(listed(replicas.runners(StageId(1), 4)) == ids({3, 4}));
  CHECK(replicas.runs(ReplicaId(1), 4));
  CHECK_FALSE(replicas.runs(ReplicaId(2), 4));
  CHECK(replicas.round() == 3);
}

TEST_CASE("replicas: a replica's own numbers and the plan's are inverse, and its counts add up") {
  const Replicas replicas(plan());
  for (std::int64_t microbatches = 0; microbatches < 20; ++microbatches) {
    std::int64_t sum = 0;
    for (ReplicaId replica : replicas.of(StageId(0))) sum += replicas.count(replica, microbatches);
    CHECK(sum == microbatches);
    CHECK(replicas.count(ReplicaId(4), microbatches) == microbatches);
  }
  for (std::uint32_t microbatch = 0; microbatch < 20; ++microbatch) {
    const ReplicaId runner = replicas.runners(StageId(0), microbatch).front();
    CHECK(replicas.microbatch(runner, replicas.local(runner, microbatch)) == microbatch);
    // Its number is how many it has run before.
    CHECK(replicas.local(runner, microbatch) == replicas.count(runner, microbatch));
  }
}

TEST_CASE("replicas: who shares a device") {
  const Replicas replicas(plan());
  CHECK(replicas.devices() == std::vector<DeviceId>{DeviceId(0), DeviceId(1), DeviceId(2), DeviceId(3)});
  CHECK(listed(replicas.on(DeviceId(3))) == ids({0, 4}));
  CHECK(replicas[ReplicaId(4)].chunk == 1);
  CHECK(replicas.on(DeviceId(7)).empty());
  CHECK(replicas.share_devices());
}

TEST_CASE("replicas: the ring has an order of its own, and joins pipelines that hold the same layers") {
  Plan both = plan();
  CHECK(Replicas(both).rings() == std::vector<std::vector<ReplicaId>>{ids({1, 2, 0}), ids({3, 4})});
  both.stages.push_back(both.stages[0]);
  both.stages[2].pipeline = 1;
  both.stages[2].ring.clear();
  const Replicas replicas(both);
  CHECK(replicas.rings() == std::vector<std::vector<ReplicaId>>{ids({1, 2, 0, 5, 6, 7}), ids({3, 4})});
  CHECK(replicas.ring_of(StageId(2)) == 0);
}

TEST_CASE("replicas: two alternating stages exchange what some microbatch takes through both") {
  Plan two = plan();
  two.stages[1].replication = Replication::RoundRobin;  // turns of 3 and 2: every pair meets
  const Replicas coprime(two);
  CHECK(coprime.share_a_microbatch(ReplicaId(0), ReplicaId(4)));
  two.stages[0].replicas.emplace_back(DeviceId(4));  // turns of 4 and 2: even meets even
  two.stages[0].ring.clear();
  const Replicas even(two);
  CHECK(even.share_a_microbatch(ReplicaId(2), ReplicaId(4)));
  CHECK_FALSE(even.share_a_microbatch(ReplicaId(1), ReplicaId(4)));
}

}  // namespace stagecraft
