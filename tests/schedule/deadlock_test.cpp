// Orders that run to their end, whatever caps, replicas, shared devices and pipelines: or the schedule says no before.
#include "sim/base/error.hpp"
#include "sim/schedule/lower.hpp"
#include "sim/schedule/one_f_one_b.hpp"
#include "sim/schedule/schedule_family.hpp"
#include "tests/random_cases.hpp"
#include "tests/schedule/compiled.hpp"
#include "tests/schedule/random_plans.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <random>
#include <string>
#include <vector>

namespace stagecraft {
namespace {

using testing::chain;
using testing::pairwise;

constexpr std::int64_t kLayers = 6;
constexpr std::size_t kDevices = 48;

std::int64_t draw(std::mt19937& random, std::int64_t low, std::int64_t high) {
  return low + static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(high - low + 1));
}

/// Three to six stages of one to four replicas, half of them with a cap.
void add_pipeline(std::mt19937& random, std::uint32_t pipeline, Plan& plan) {
  std::int64_t layer = 0;
  while (layer < kLayers) {
    Stage stage;
    stage.pipeline = pipeline;
    for (std::int64_t i = draw(random, 1, std::min<std::int64_t>(2, kLayers - layer)); i > 0; --i)
      stage.layers.emplace_back(layer++);
    stage.replicas.resize(static_cast<std::size_t>(draw(random, 0, 1) == 0 ? 1 : draw(random, 2, 4)));
    if (draw(random, 0, 3) == 0) stage.replication = Replication::Split;
    if (draw(random, 0, 1) == 0) stage.in_flight = draw(random, 1, 4);
    plan.stages.push_back(stage);
  }
}

/// Gives all stages whose replicas alternate as many of them.
void equal_rounds(std::mt19937& random, Plan& plan) {
  const auto replicas = static_cast<std::size_t>(draw(random, 1, 3));
  for (Stage& stage : plan.stages) {
    stage.replication = replicas == 1 ? Replication::Split : Replication::RoundRobin;
    if (replicas > 1) stage.replicas.resize(replicas);
  }
}

void place(std::mt19937& random, bool share, Plan& plan) {
  std::vector<DeviceId> devices;
  for (std::size_t i = 0; i < kDevices; ++i) devices.emplace_back(i);
  std::size_t next = 0;
  for (Stage& stage : plan.stages) {
    if (share) {
      devices.resize(4);
      std::ranges::shuffle(devices, random);
      next = 0;
    }
    for (Group& group : stage.replicas) group = devices[next++];
  }
}

Plan random_plan(std::uint32_t seed, const std::string& schedule, bool share, std::uint32_t pipelines = 1) {
  std::mt19937 random(seed);
  Plan plan;
  plan.schedule.name = schedule;
  plan.microbatch_size = 64;
  for (std::uint32_t pipeline = 0; pipeline < pipelines; ++pipeline) add_pipeline(random, pipeline, plan);
  if (pipelines > 1 && draw(random, 0, 1) == 0) equal_rounds(random, plan);
  place(random, share, plan);
  plan.microbatches = draw(random, 1, 30);
  const bool is_measured = schedule == "pipedream" && testing::refusal_of(plan).empty();
  if (is_measured) plan.microbatches += testing::least_length(plan) - 1;
  return plan;
}

/// Whether the lowering finds that nothing can go on.
bool deadlocks(const Plan& plan) {
  static const LayerGraph graph = chain(kLayers, 1, 2, 100, 10, 100);
  static const Platform platform = pairwise(kDevices);
  const LoweredRun run = lower(graph, platform, require_schedule(graph, platform, plan), {});
  try {
    while (run.source.next({})) {
    }
  } catch (const InputError& error) {
    REQUIRE(std::string(error.what()).find("the schedule deadlocks") != std::string::npos);
    return true;
  }
  return false;
}

bool is_refused(const Plan& plan) { return !testing::refusal_of(plan).empty(); }

/// Whether replicas of the same layers take different numbers of turns.
bool has_unequal_rounds(const Plan& plan) {
  const Replicas replicas(plan);
  return std::ranges::any_of(replicas.rings(), [&](const GradientRing& ring) {
    const std::int64_t turns = replicas[ring.members.front()].turns;
    return std::ranges::any_of(ring.members, [&](ReplicaId id) { return replicas[id].turns != turns; });
  });
}

TEST_CASE("deadlock: caps and replicas of a chain never keep 1F1B from its end, 1500 random plans") {
  for (const std::string schedule : {"1f1b", "eager-1f1b", "pipedream"}) {
    for (std::uint32_t seed = 1; seed <= testing::random_cases(500U); ++seed) {
      CAPTURE(schedule);
      CAPTURE(seed);
      const Plan plan = random_plan(seed, schedule, false);
      CHECK_FALSE(is_refused(plan));
      CHECK_FALSE(deadlocks(plan));
    }
  }
}

TEST_CASE("deadlock: stages that share devices have orders that run to their end, 900 random plans") {
  for (const std::string schedule : {"1f1b", "eager-1f1b", "pipedream"}) {
    for (std::uint32_t seed = 1; seed <= testing::random_cases(300U); ++seed) {
      CAPTURE(schedule);
      CAPTURE(seed);
      const Plan plan = random_plan(seed, schedule, true);
      CHECK_FALSE(is_refused(plan));
      CHECK_FALSE(deadlocks(plan));
    }
  }
}

TEST_CASE("deadlock: two pipelines on shared devices have orders that run to their end, 600 random plans") {
  for (const std::string schedule : {"1f1b", "pipedream"}) {
    for (std::uint32_t seed = 1; seed <= testing::random_cases(300U); ++seed) {
      CAPTURE(schedule);
      CAPTURE(seed);
      const Plan plan = random_plan(seed, schedule, true, 2);
      if (!is_refused(plan)) CHECK_FALSE(deadlocks(plan));
    }
  }
}

TEST_CASE(
    "deadlock: with unequal shares and updates after several rounds pipedream runs to its end, 600 random plans") {
  int allowed = 0;
  for (std::uint32_t seed = 1; seed <= testing::random_cases(600U); ++seed) {
    CAPTURE(seed);
    std::mt19937 random(seed);
    const std::uint32_t pipelines = 1 + seed % 2;
    Plan plan = random_plan(seed, "pipedream", true, pipelines);
    if (pipelines > 1) plan.pipeline_shares = testing::random_shares(pipelines, random);
    for (Stage& stage : plan.stages) {
      if (pipelines == 1) stage.shares = testing::random_shares(stage.replicas.size(), random);
    }
    plan.rounds_per_update = draw(random, 1, 3);
    if (is_refused(plan)) continue;
    ++allowed;
    plan.microbatches = testing::least_length(plan) + draw(random, 0, 30);
    CHECK_FALSE(deadlocks(plan));
  }
  CHECK(allowed > testing::random_cases(350));
}

TEST_CASE("deadlock: pipedream refuses pipelines whose rounds never fit, and no others, 400 random plans") {
  int refused = 0;
  for (std::uint32_t seed = 1; seed <= testing::random_cases(400U); ++seed) {
    CAPTURE(seed);
    const Plan plan = random_plan(seed, "pipedream", false, 2);
    refused += is_refused(plan) ? 1 : 0;
    CHECK(is_refused(plan) == has_unequal_rounds(plan));
    if (!is_refused(plan)) CHECK_FALSE(deadlocks(plan));
  }
  CHECK(refused > testing::random_cases(40));
  CHECK(refused < testing::random_cases(360));
}

/// Whether 1F1B orders with these warm-ups come to an end, by playing them: nothing else is modelled.
bool ends(const Plan& plan, const std::vector<std::vector<std::int64_t>>& warmup) {
  struct Worker {
    std::int64_t forwards = 0;
    std::int64_t backwards = 0;
  };
  std::vector<std::vector<Worker>> workers;
  for (const Stage& stage : plan.stages) workers.emplace_back(static_cast<std::size_t>(alternating_replicas(stage)));
  std::vector<Rotation> turns;
  for (const Stage& stage : plan.stages) turns.push_back(turns_of(stage));
  const auto done = [&](std::size_t s, std::int64_t microbatch, bool backward) {
    const std::uint32_t replica = turns[s].owner(microbatch);
    const Worker& worker = workers[s][replica];
    return (backward ? worker.backwards : worker.forwards) > turns[s].count(replica, microbatch);
  };
  bool all_done = false;
  for (bool progressed = true; progressed && !all_done;) {
    progressed = false;
    all_done = true;
    for (std::size_t s = 0; s < workers.size(); ++s) {
      for (std::uint32_t replica = 0; replica < workers[s].size(); ++replica) {
        Worker& worker = workers[s][replica];
        const std::int64_t count = turns[s].count(replica, plan.microbatches);
        if (worker.backwards == count) continue;
        all_done = false;
        const bool forward = worker.forwards < std::min(count, worker.backwards + warmup[s][replica] + 1);
        const std::int64_t microbatch = turns[s].turn(replica, forward ? worker.forwards : worker.backwards);
        const bool ready = forward ? s == 0 || done(s - 1, microbatch, false)
                                   : s + 1 == workers.size() || done(s + 1, microbatch, true);
        if (!ready) continue;
        ++(forward ? worker.forwards : worker.backwards);
        progressed = true;
      }
    }
  }
  return all_done;
}

TEST_CASE("deadlock: the warm-up that caps leave to later stages is the largest that can run, 1500 random chains") {
  int lowered = 0;
  for (std::uint32_t seed = 1; seed <= testing::random_cases(1500U); ++seed) {
    CAPTURE(seed);
    Plan plan = random_plan(seed, "1f1b", false);
    plan.microbatches = 200;
    const std::vector<std::vector<std::int64_t>> warmup = warmups(plan);
    CHECK(ends(plan, warmup));
    for (std::size_t s = 1; s < plan.stages.size(); ++s) {
      Plan free = plan;  // no caps before
      for (std::size_t before = 0; before < s; ++before) free.stages[before].in_flight.reset();
      if (warmups(free)[s] == warmup[s]) continue;
      ++lowered;
      std::vector<std::vector<std::int64_t>> more = warmup;
      for (std::int64_t& each : more[s]) ++each;
      CHECK_FALSE(ends(plan, more));
    }
  }
  CHECK(lowered > testing::random_cases(50));
}

TEST_CASE("deadlock: with unequal shares every warm-up can run, 1500 random chains") {
  std::mt19937 random(43);
  for (std::uint32_t seed = 1; seed <= testing::random_cases(1500U); ++seed) {
    CAPTURE(seed);
    Plan plan = random_plan(seed, "1f1b", false);
    plan.microbatches = 200;
    for (Stage& stage : plan.stages) {
      if (random() % 2 == 0) stage.shares = testing::random_shares(stage.replicas.size(), random);
    }
    CHECK(ends(plan, warmups(plan, 1 + seed % 3)));
  }
}

TEST_CASE("deadlock: replicas with the same shares on all stages have as many in flight as pipelines of their own") {
  Plan plan = testing::straight(4, 30, "1f1b");
  for (Stage& stage : plan.stages) {
    stage.replicas = {DeviceId(0), DeviceId(1)};
    stage.shares = {19, 4};
  }
  const std::vector<std::vector<std::int64_t>> warmup = warmups(plan);
  CHECK(warmup == std::vector<std::vector<std::int64_t>>{{3, 3}, {2, 2}, {1, 1}, {0, 0}});
  CHECK(ends(plan, warmup));
}

TEST_CASE("deadlock: a cap is passed on past a stage with more replicas") {
  Plan plan = testing::straight(4, 30, "pipedream");
  plan.stages[1].replicas = {DeviceId(1), DeviceId(4)};
  plan.stages[0].in_flight = 1;
  CHECK(largest_warmups(plan)[1] == 0);
  CHECK(largest_warmups(plan)[2] == 0);
  plan.stages[0].in_flight = 2;
  CHECK(largest_warmups(plan)[1] == 0);
  CHECK(largest_warmups(plan)[2] == 1);
}

}  // namespace
}  // namespace stagecraft
