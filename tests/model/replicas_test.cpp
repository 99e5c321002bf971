#include "sim/model/replicas.hpp"

#include "sim/model/plan.hpp"
#include "tests/random_cases.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <random>
#include <set>
#include <utility>
#include <vector>

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

/// Adds the stages as the second pipeline of the plan.
void add_pipeline(Plan& plan, const Plan& second) {
  for (Stage stage : second.stages) {
    stage.pipeline = 1;
    plan.stages.push_back(std::move(stage));
  }
}

using Members = std::vector<std::vector<ReplicaId>>;
Members members(const Replicas& replicas) {
  Members result;
  for (const GradientRing& ring : replicas.rings()) result.push_back(ring.members);
  return result;
}

}  // namespace

TEST_CASE("replicas: whole microbatches alternate in the order of turns, divided ones go to all") {
  const Replicas replicas(plan());
  CHECK(listed(replicas.of(StageId(0))) == ids({0, 1, 2}));
  CHECK(listed(replicas.runners(StageId(0), 4)) == ids({1}));
  CHECK(listed(replicas.runners(StageId(1), 4)) == ids({3, 4}));
  CHECK(runs(replicas, ReplicaId(1), 4));
  CHECK_FALSE(runs(replicas, ReplicaId(2), 4));
  CHECK(round_of(replicas) == 3);
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

/// A plan of up to three pipelines with random shares on all levels.
Plan plan_with_shares(std::mt19937& random) {
  Plan plan;
  const auto number = [&](std::uint32_t most) { return 1 + static_cast<std::int64_t>(random() % most); };
  const std::int64_t pipelines = number(3);
  for (std::int64_t p = 0; p < pipelines; ++p) {
    if (random() % 2 == 0 || !plan.pipeline_shares.empty() || p + 1 < pipelines)
      plan.pipeline_shares.push_back(number(4));
    for (std::int64_t stages = number(3); stages > 0; --stages) {
      Stage& stage = plan.stages.emplace_back();
      stage.pipeline = static_cast<std::uint32_t>(p);
      for (std::int64_t replicas = number(4); replicas > 0; --replicas) stage.replicas.emplace_back(DeviceId(replicas));
      if (random() % 4 == 0) stage.replication = Replication::Split;
      if (random() % 2 == 0) {
        for (std::size_t i = 0; i < stage.replicas.size(); ++i) stage.shares.push_back(number(5));
      }
    }
  }
  if (std::ssize(plan.pipeline_shares) != pipelines) plan.pipeline_shares.clear();
  plan.microbatch_size = 840;
  return plan;
}

TEST_CASE("replicas: with any shares each microbatch has its runners, and each replica its share of them") {
  std::mt19937 random(43);
  for (std::uint32_t seed = 1; seed <= testing::random_cases(300U); ++seed) {
    CAPTURE(seed);
    const Plan plan = plan_with_shares(random);
    const Replicas replicas(plan);
    const std::int64_t round = round_of(replicas);
    REQUIRE(round < 1'000'000);
    IndexVector<ReplicaId, std::int64_t> run(replicas.size());
    std::set<std::pair<ReplicaId, ReplicaId>> meet;
    for (std::uint32_t microbatch = 0; microbatch < round; ++microbatch) {
      std::vector<ReplicaId> all;
      for (const StageId stage : indices<StageId>(plan.stages.size())) {
        const std::span<const ReplicaId> runners = replicas.runners(stage, microbatch);
        CHECK(runners.empty() == (replicas.pipeline_turns().owner(microbatch) != plan.stages[stage.value()].pipeline));
        if (!runners.empty()) CHECK(runners.size() == (replicas.alternate(stage) ? 1 : replicas.of(stage).size()));
        all.insert(all.end(), runners.begin(), runners.end());
      }
      CHECK(all.size() == replicas.all_runners(microbatch));
      for (const ReplicaId id : all) {
        CHECK(runs(replicas, id, microbatch));
        CHECK(replicas.count(id, microbatch) == run[id]);
        CHECK(replicas.microbatch(id, run[id]) == microbatch);
        ++run[id];
        for (const ReplicaId other : all) meet.emplace(id, other);
      }
    }
    for (const ReplicaId a : replicas.all()) {
      const Replica& own = replicas[a];
      CHECK(run[a] == own.taken * (round / own.turns));
      for (const ReplicaId b : replicas.all()) CHECK(replicas.share_a_microbatch(a, b) == meet.contains({a, b}));
      const Stage& stage = plan.stages[own.stage.value()];
      if (stage.shares.empty() || stage.replication == Replication::Split) continue;
      const std::span<const ReplicaId> of = replicas.of(own.stage);
      for (const ReplicaId b : of) {  // runs go in proportion
        const auto position = [&](ReplicaId id) {
          return static_cast<std::size_t>(std::ranges::find(of, id) - of.begin());
        };
        CHECK(run[a] * stage.shares[position(b)] == run[b] * stage.shares[position(a)]);
      }
    }
  }
}

TEST_CASE("replicas: shares divide a microbatch into whole samples, and turns are spread over a round") {
  Plan split = plan();
  split.microbatch_size = 10;
  split.stages[1].shares = {2, 1};
  const Replicas divided(split);
  CHECK(divided[ReplicaId(3)].share == Share{0, 6, 10});
  CHECK(divided[ReplicaId(4)].share == Share{6, 10, 10});
  split.microbatch_size = 12;
  CHECK(Replicas(split)[ReplicaId(3)].share == Share{0, 2, 3});
  CHECK(least_samples(split.stages[1]) == 3);

  const Rotation turns({2, 1, 4});
  std::vector<std::uint32_t> order;
  for (std::int64_t turn = 0; turn < 7; ++turn) order.push_back(turns.owner(turn));
  CHECK(order == std::vector<std::uint32_t>{2, 0, 2, 1, 2, 0, 2});
  CHECK(Rotation({3, 3}).round() == 2);
}

TEST_CASE("replicas: who shares a device") {
  const Replicas replicas(plan());
  CHECK(replicas.devices() == std::vector<DeviceId>{DeviceId(0), DeviceId(1), DeviceId(2), DeviceId(3)});
  CHECK(listed(replicas.on(DeviceId(3))) == ids({0, 4}));
  CHECK(replicas[ReplicaId(4)].chunk == 1);
  CHECK(replicas.on(DeviceId(7)).empty());
  CHECK(share_devices(replicas));
}

TEST_CASE("replicas: the ring has an order of its own, and joins pipelines that hold the same layers") {
  Plan both = plan();
  CHECK(members(Replicas(both)) == Members{ids({1, 2, 0}), ids({3, 4})});
  add_pipeline(both, plan());
  both.stages[2].ring.clear();
  const Replicas replicas(both);
  CHECK(members(replicas) == Members{ids({1, 2, 0, 5, 6, 7}), ids({3, 4, 8, 9})});
  CHECK(replicas.rings_of(StageId(2)) == std::vector<std::size_t>{0});
}

TEST_CASE("replicas: pipelines take microbatches in turn, and the replicas of their stages those of their pipeline") {
  Plan both = plan();
  add_pipeline(both, plan());
  both.stages[2].replicas.pop_back();  // two replicas that alternate, not three
  both.stages[2].ring.clear();
  const Replicas replicas(both);
  CHECK(replicas.pipelines() == 2);
  CHECK(round_of(replicas) == 12);
  CHECK(replicas.all_runners(0) == 3);
  for (std::uint32_t microbatch = 0; microbatch < 24; ++microbatch) {
    CAPTURE(microbatch);
    const bool first = microbatch % 2 == 0;
    const int within = static_cast<int>(microbatch / 2);
    CHECK(listed(replicas.runners(StageId(0), microbatch)) == (first ? ids({within % 3}) : ids({})));
    CHECK(listed(replicas.runners(StageId(1), microbatch)) == (first ? ids({3, 4}) : ids({})));
    CHECK(listed(replicas.runners(StageId(2), microbatch)) == (first ? ids({}) : ids({5 + within % 2})));
    CHECK(listed(replicas.runners(StageId(3), microbatch)) == (first ? ids({}) : ids({7, 8})));
    for (ReplicaId replica : replicas.all()) {
      const auto runners = listed(replicas.runners(replicas[replica].stage, microbatch));
      const bool is_runner = std::ranges::find(runners, replica) != runners.end();
      CHECK(runs(replicas, replica, microbatch) == is_runner);
      if (!is_runner) continue;
      CHECK(replicas.microbatch(replica, replicas.local(replica, microbatch)) == microbatch);
      CHECK(replicas.local(replica, microbatch) == replicas.count(replica, microbatch));
    }
  }
  CHECK_FALSE(replicas.share_a_microbatch(ReplicaId(0), ReplicaId(5)));
  CHECK(replicas.share_a_microbatch(ReplicaId(5), ReplicaId(8)));
}

TEST_CASE("replicas: pipelines that cut the layers differently have a ring for each layer's holders") {
  Plan both;
  both.stages.resize(4);
  both.stages[0].layers = {LayerId(0)};
  both.stages[1].layers = {LayerId(1), LayerId(2)};
  both.stages[2].layers = {LayerId(0), LayerId(1)};
  both.stages[3].layers = {LayerId(2)};
  for (std::size_t s = 0; s < 4; ++s) both.stages[s].replicas = {DeviceId(s)};
  both.stages[2].pipeline = both.stages[3].pipeline = 1;
  const Replicas replicas(both);
  CHECK(members(replicas) == Members{ids({0, 2}), ids({1, 2}), ids({1, 3})});
  for (std::size_t ring = 0; ring < 3; ++ring) CHECK(replicas.rings()[ring].layers == std::vector{LayerId(ring)});
  CHECK(replicas.rings_of(StageId(0)) == std::vector<std::size_t>{0});
  CHECK(replicas.rings_of(StageId(1)) == std::vector<std::size_t>{1, 2});
  CHECK(replicas.rings_of(StageId(2)) == std::vector<std::size_t>{0, 1});
  CHECK(replicas.rings_of(StageId(3)) == std::vector<std::size_t>{2});
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

TEST_CASE("replicas: a share overlaps those replicas with which it has samples in common") {
  std::mt19937 random(7);
  const auto drawn = [&](int most) { return std::uniform_int_distribution(1, most)(random); };
  for (int trial = 0; trial < testing::random_cases(200); ++trial) {
    Plan two;
    two.stages.resize(2);
    two.microbatch_size = drawn(24);
    for (Stage& stage : two.stages) {
      stage.replication = Replication::Split;
      const int count = std::min(drawn(8), static_cast<int>(two.microbatch_size));
      for (int i = 0; i < count; ++i) stage.replicas.emplace_back(DeviceId(i));
    }
    const Replicas replicas(two);
    for (const ReplicaId sender : replicas.of(StageId(0))) {
      const Share& share = replicas[sender].share;
      std::vector<ReplicaId> expected;
      for (const ReplicaId each : replicas.of(StageId(1))) {
        if (!flow_share(share, replicas[each].share).is_empty()) expected.push_back(each);
      }
      CHECK(listed(overlapping(replicas, StageId(1), share)) == expected);
    }
  }
}

}  // namespace stagecraft
