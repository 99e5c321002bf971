#include "sim/schedule/updates.hpp"

#include "sim/analytic/evaluate_plan.hpp"
#include "sim/schedule/kept_plan.hpp"
#include "tests/random_cases.hpp"
#include "tests/schedule/compiled.hpp"
#include "tests/schedule/random_plans.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <map>

namespace stagecraft {
namespace {

using testing::chain;
using testing::pairwise;
using testing::random_case;
using testing::random_cases;
using testing::RandomCase;
using testing::straight;

/// A stage of two replicas and one of one, asynchronous, with microbatches of 8 samples.
Plan two_and_one(std::int64_t rounds_per_update) {
  Plan plan = straight(2, 200, "pipedream");
  plan.microbatch_size = 8;
  plan.stages[0].replicas = {DeviceId(0), DeviceId(2)};
  plan.rounds_per_update = rounds_per_update;
  return plan;
}

std::vector<StageUpdates> updates_of(const LayerGraph& graph, const Platform& platform, const Plan& plan) {
  return stage_updates(graph, require_schedule(graph, platform, plan));
}

TEST_CASE("updates: a flushed iteration is one update of all its samples") {
  Plan plan = straight(3, 5, "1f1b");
  plan.microbatch_size = 4;
  const auto updates = updates_of(chain(3, 1, 2), pairwise(3), plan);
  CHECK(updates == std::vector<StageUpdates>(3, {20, 0}));
}

TEST_CASE("updates: each stage of an asynchronous plan sums up its own rounds") {
  // In flight are 1 + (3 - 1) / 2 = 2 on a replica of stage 0, and 1 in stage 1. Stage 0 has an all-reduce.
  const auto updates = [](std::int64_t rounds) {
    return updates_of(chain(2, 1, 2, 0, 0, 8), pairwise(3), two_and_one(rounds));
  };
  CHECK(updates(1) == std::vector<StageUpdates>{{16, 2}, {8, 0}});
  CHECK(updates(4) == std::vector<StageUpdates>{{64, 1}, {32, 0}});
  CHECK(largest(updates(1)) == StageUpdates{16, 2});
}

// The replicas of stage 0 have nothing to exchange, and no weights of which a forward could read old ones.
TEST_CASE("updates: a stage without parameters has no updates and is never stale") {
  LayerGraph graph = chain(2, 1, 2, 0, 0, 8);
  graph.layers[LayerId(0)].parameters = Bytes(0);
  CHECK(updates_of(graph, pairwise(3), two_and_one(1)) == std::vector<StageUpdates>{{0, 0}, {8, 0}});
  CHECK(largest(updates_of(graph, pairwise(3), two_and_one(1))).samples == 8);
  CHECK(fewest_samples(updates_of(graph, pairwise(3), two_and_one(1))) == 8);
  CHECK(fewest_samples(updates_of(chain(2, 1, 2, 0, 0, 8), pairwise(3), two_and_one(1))) == 8);
  graph.layers[LayerId(1)].parameters = Bytes(0);
  CHECK(updates_of(graph, pairwise(3), two_and_one(1)) == std::vector<StageUpdates>{{16, 0}, {8, 0}});
  Plan plan = straight(1, 200, "pipedream");
  plan.stages[0].replicas = {DeviceId(0), DeviceId(1)};
  CHECK(updates_of(chain(1, 1, 2), pairwise(2), plan).front().staleness == 0);
  CHECK(updates_of(chain(1, 1, 2, 0, 0, 8), pairwise(2), plan).front().staleness == 1);
}

TEST_CASE("updates: PipeDream's stages are as stale as their distance from the end") {
  const Plan plan = straight(4, 100, "pipedream");
  const auto updates = updates_of(chain(4, 1, 2, 0, 0, 8), pairwise(4), plan);
  for (std::int64_t s = 0; s < 4; ++s) CHECK(updates[static_cast<std::size_t>(s)].staleness == 3 - s);
}

TEST_CASE("updates: a synchronous schedule takes no rounds per update") {
  Plan plan = straight(2, 4, "1f1b");
  plan.rounds_per_update = 2;
  CHECK(testing::refusal_of(plan).starts_with("1f1b updates the weights once in an iteration"));
}

TEST_CASE("updates: fewer updates need fewer weight versions") {
  Plan plan = straight(4, 100, "pipedream");
  const auto versions = [&](std::int64_t rounds) {
    plan.rounds_per_update = rounds;
    return require_schedule(chain(4, 1, 2), pairwise(4), plan).weight_versions;
  };
  CHECK(versions(1) == std::vector<std::int64_t>{4, 3, 2, 1});
  // Of 4 microbatches in flight, the 3 before the newest may span two updates, or one.
  CHECK(versions(2) == std::vector<std::int64_t>{3, 2, 2, 1});
  CHECK(versions(3) == std::vector<std::int64_t>{2, 2, 2, 1});
  CHECK(versions(100) == std::vector<std::int64_t>{2, 2, 2, 1});
}

/// The largest staleness of a replica, counted over its order: its update follows the backwards of so many of its
/// microbatches, right before the next one if it waits for an all-reduce.
std::int64_t counted_staleness(const std::vector<Action>& actions, StageId stage, std::int64_t between, bool reduces) {
  std::int64_t backwards = 0;
  std::int64_t forwards = 0;
  std::int64_t most = 0;
  for (const Action& action : actions) {
    if (action.stage != stage) continue;
    if (action.kind == ActionKind::Backward) ++backwards;
    if (action.kind != ActionKind::Forward) continue;
    const std::int64_t settled = reduces ? std::max<std::int64_t>(backwards - 1, 0) : backwards;
    most = std::max(most, forwards / between - settled / between);
    ++forwards;
  }
  return most;
}

TEST_CASE("updates: staleness is what the orders show, random plans") {
  int reducing = 0;
  for (int seed = 1; seed <= random_cases(200); ++seed) {
    CAPTURE(seed);
    RandomCase random = random_case(static_cast<std::uint32_t>(seed));
    random.plan.schedule.name = "pipedream";
    random.plan.rounds_per_update = 1 + seed % 4;
    random.plan.microbatches = 400;
    const ScheduleProgram program = require_schedule(random.graph, random.platform, random.plan);
    const auto updates = stage_updates(random.graph, program);
    const Schedule schedule = program.orders({0, 400});
    for (const DeviceOrder& order : schedule.devices) {
      const Replica& replica = program.kept->replicas[program.kept->replicas.on(order.device).front()];
      const std::size_t stage = replica.stage.value();
      const bool reduces = random.plan.stages[stage].replicas.size() > 1;
      reducing += reduces ? 1 : 0;
      const std::int64_t counted =
          counted_staleness(order.actions, replica.stage, random.plan.rounds_per_update * replica.taken, reduces);
      Bytes parameters;
      for (LayerId layer : random.plan.stages[stage].layers) parameters += random.graph.layers[layer].parameters;
      if (parameters == Bytes(0)) {
        CHECK(updates[stage].staleness == 0);
        continue;
      }
      // An order under caps may keep fewer microbatches in flight than the caps allow; the figure goes by the caps.
      CHECK(updates[stage].staleness >= counted);
      if (program.reaches_in_flight) CHECK(updates[stage].staleness == counted);
    }
  }
  CHECK(reducing > random_cases(50));
}

TEST_CASE("updates: R rounds give one all-reduce and one optimizer step, 100 plans") {
  for (int seed = 1; seed <= random_cases(100); ++seed) {
    CAPTURE(seed);
    RandomCase random = random_case(static_cast<std::uint32_t>(seed), {.allow_swap = false});
    const std::int64_t rounds = 1 + seed % 5;
    random.plan.schedule.name = "pipedream";
    random.plan.rounds_per_update = rounds;
    random.plan.microbatches = 360;
    random.plan.training.gradient_bucket = Bytes(0);  // one all-reduce for an update
    std::map<std::pair<PlaceId, OpKind>, std::int64_t> count;
    const Report report = evaluate_plan(random.graph, random.platform, random.plan, {}, {},
                                        [&](const Span&, const Op& op, auto) { ++count[{op.from, op.kind}]; });
    const DeviceKind& kind = random.platform.kind(DeviceId(0));
    const bool starts = kind.update_overhead > Seconds(0);
    const bool steps = kind.update_bandwidth.has_value();
    const Replicas replicas(random.plan);
    for (ReplicaId id : replicas.all()) {
      const PlaceId place = random.platform.place(replicas[id].device);
      const bool reduces = replicas.of(replicas[id].stage).size() > 1;
      const std::int64_t backwards = replicas.count(id, 360);
      const std::int64_t apart = rounds * replicas[id].taken;
      std::int64_t all_reduces = reduces ? backwards / apart : 0;
      for (ReplicaId other : replicas.of(replicas[id].stage)) {  // each waits for the round of every other one
        all_reduces = std::min(all_reduces, replicas.count(other, 360) / (rounds * replicas[other].taken));
      }
      CHECK(count[{place, OpKind::AllReduce}] == all_reduces);
      Bytes parameters;
      for (LayerId layer : random.plan.stages[replicas[id].stage.value()].layers) {
        parameters += random.graph.layers[layer].parameters;
      }
      // The step after an all-reduce comes before the next backward, if there is one.
      const std::int64_t due = reduces ? std::min(all_reduces, (backwards - 1) / apart) : backwards / apart;
      CHECK(count[{place, OpKind::Update}] == (starts || (steps && parameters > Bytes(0)) ? due : 0));
    }
  }
}

TEST_CASE("updates: an all-reduce is paid once in R rounds") {
  // One stage on two devices, each microbatch 1 s + 2 s. The all-reduce moves all 8 bytes of the parameters over a link
  // of 1 B/s: 8 s, under which the next forward runs. A round takes 2 + 8 s; R rounds take 3 R - 1 + 8 s, since all
  // forwards but the one under the all-reduce take their time.
  const LayerGraph graph = chain(1, 1, 2, 0, 0, 8);
  for (const std::int64_t rounds : {1, 2, 4, 10}) {
    CAPTURE(rounds);
    Plan plan = straight(1, 400, "pipedream");
    plan.stages[0].replicas = {DeviceId(0), DeviceId(1)};
    plan.rounds_per_update = rounds;
    const Report report = evaluate_plan(graph, pairwise(2, 1.0), plan);
    const double group = 3.0 * static_cast<double>(rounds) - 1.0 + 8.0;
    CHECK(report.period->value() == doctest::Approx(group / (2.0 * static_cast<double>(rounds))).epsilon(1e-9));
  }
}

}  // namespace
}  // namespace stagecraft
