// Long runs of which only two short ones are simulated say what the whole run says.
#include "experiments/run/simulation.hpp"
#include "sim/engine/extended_report.hpp"
#include "sim/schedule/schedule_family.hpp"
#include "tests/random_cases.hpp"
#include "tests/schedule/chains.hpp"
#include "tests/schedule/fixed_plans.hpp"
#include "tests/schedule/random_plans.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <random>
#include <string>
#include <utility>

namespace stagecraft {
namespace {

using testing::chain;
using testing::pairwise;
using testing::straight;

Simulation simulated(const testing::RandomCase& of, EngineChoice engine, bool verifies = false,
                     SimulationChoices choices = {}) {
  choices.engine = engine;
  choices.verifies_repetition = verifies;
  return simulate_program(of.graph, of.platform, require_schedule(of.graph, of.platform, of.plan), choices, Settings());
}

/// What a long run says about itself; none of a short one.
std::optional<WholeBecause> why_whole(const Simulation& simulation) {
  return simulation.long_run ? simulation.long_run->why() : std::nullopt;
}

/// A chain whose times are whole seconds and whose links carry a byte a second: sums of them are exact.
testing::RandomCase whole_seconds(std::uint32_t seed) {
  std::mt19937 random(seed);
  const auto number = [&](std::uint32_t least, std::uint32_t most) { return least + random() % (most - least + 1); };
  const std::size_t stages = number(1, 6);
  testing::RandomCase made{chain(stages, 1, 2), pairwise(stages, 1.0, number(0, 2)), {}};
  const char* schedules[] = {"1f1b", "eager-1f1b", "pipedream"};
  made.plan = straight(stages, number(1100, 1400), schedules[number(0, 2)]);
  for (Layer& layer : made.graph.layers) {
    layer.forward = Seconds(number(1, 9));
    layer.backward = Seconds(number(1, 15));
    layer.output = Bytes(number(0, 9));
    layer.stash = Bytes(number(0, 9));
    layer.parameters = Bytes(number(0, 9));
  }
  for (LayerEdge& edge : made.graph.edges) edge.bytes = made.graph.layers[edge.from].output;
  return made;
}

/// Replicas that take turns, memory actions and unequal shares, but no caps, which make orders that are searched.
testing::RandomCase with_replicas(std::uint32_t seed) {
  testing::RandomCase made = testing::random_case(seed);
  for (Stage& stage : made.plan.stages) stage.in_flight.reset();
  if (made.plan.schedule.name == "gpipe") made.plan.schedule.name = "1f1b";
  made.plan.microbatches = 5000 + static_cast<std::int64_t>(seed % 7);
  return made;
}

}  // namespace

TEST_CASE("repeated run: chains in whole seconds say what the whole run says, to the last bit") {
  const std::uint32_t cases = testing::random_cases(1000U);
  std::uint32_t repeated = 0;
  for (std::uint32_t seed = 0; seed < cases; ++seed) {
    CAPTURE(seed);
    const testing::RandomCase chain = whole_seconds(seed);
    SimulationChoices exactly;
    if (chain.plan.schedule.name == "pipedream") exactly.run_length = chain.plan.microbatches;
    Simulation short_runs = simulated(chain, EngineChoice::Evaluate, false, exactly);
    const Simulation whole = simulated(chain, EngineChoice::Evaluate, true, exactly);
    if (exactly.run_length && largest_difference(short_runs.report, whole.report) < 1e-14) {
      short_runs.report.links = whole.report.links;  // parts of transfers, which are no whole bytes
    }
    CHECK(short_runs.report == whole.report);
    CHECK(short_runs.traffic.flows == whole.traffic.flows);
    CHECK(short_runs.traffic.parts == whole.traffic.parts);
    REQUIRE(short_runs.long_run);
    if (short_runs.long_run->repetition() != nullptr) ++repeated;
  }
  CHECK(repeated >= cases * 9 / 10);
}

TEST_CASE("repeated run: plans with replicas, memory actions and swaps, on both engines") {
  const std::uint32_t cases = testing::random_cases(200U);
  std::uint32_t repeated = 0;
  for (std::uint32_t seed = 0; seed < cases; ++seed) {
    CAPTURE(seed);
    const testing::RandomCase made = with_replicas(seed);
    for (const EngineChoice engine : {EngineChoice::Evaluate, EngineChoice::Replay}) {
      const Simulation whole = simulated(made, engine, true);
      REQUIRE(whole.long_run);
      if (whole.long_run->repetition() == nullptr) continue;
      ++repeated;
      CHECK(*whole.long_run->difference < 1e-10);
    }
  }
  CHECK(repeated >= cases);  // of twice as many
}

TEST_CASE("repeated run: schedules with fixed orders, on one replica of each stage and on two") {
  std::uint32_t repeated = 0;
  for (const ScheduleFamily* family : testing::fixed_families()) {
    for (const std::size_t replicas : {1U, 2U}) {
      CAPTURE(family->name);
      CAPTURE(replicas);
      testing::RandomCase made{{}, pairwise(4 * replicas, 1e9, 0.001), {}};
      made.plan = testing::fixed_plan({family->name, {}}, 4, 2048, replicas);
      made.graph = chain(testing::layers_of(made.plan), 0.7, 1.3, 100'000'000, 1000, 1000);
      const Simulation whole = simulated(made, EngineChoice::Evaluate, true);
      REQUIRE(whole.long_run);
      if (whole.long_run->repetition() == nullptr) continue;
      ++repeated;
      CHECK(*whole.long_run->difference < 1e-10);
    }
  }
  CHECK(repeated >= 2 * (testing::fixed_families().size() - 3));
}

TEST_CASE("repeated run: where transfers share links, the state has to be seen three times") {
  testing::RandomCase made{chain(3, 1, 2, 700'000'000), pairwise(3, 1e9, 0.0, Duplex::Half), straight(3, 3000, "1f1b")};
  for (const LayerId id : indices(made.graph.layers)) {  // no two transfers end together, or rounding would decide
    made.graph.layers[id].forward = Seconds(1.0 + 0.0137 * id.value());
  }
  const Simulation evaluated = simulated(made, EngineChoice::Evaluate);
  REQUIRE(evaluated.long_run->repetition());
  CHECK(evaluated.long_run->repetition()->is_exact);
  const Simulation replayed = simulated(made, EngineChoice::Replay, true);
  REQUIRE(replayed.long_run->repetition());
  CHECK_FALSE(replayed.long_run->repetition()->is_exact);
  CHECK(*replayed.long_run->difference < 1e-10);
  CHECK(replayed.report.end > evaluated.report.end);
}

// Stage 0 takes 3 s for a microbatch and stage 1 takes 3.03 s. Stage 0 has a start of some microbatches, so it is only
// after hundreds of them that it has to wait.
TEST_CASE("repeated run: a run whose period changes late repeats only after that, or is simulated whole") {
  testing::RandomCase made{chain(2, 1, 2), pairwise(2), straight(2, 2000, "pipedream")};
  made.graph.layers[LayerId(1)].forward = Seconds(1.01);
  made.graph.layers[LayerId(1)].backward = Seconds(2.02);
  made.plan.schedule.parameters = {{"depth", std::int64_t{20}}};
  SimulationChoices exactly;
  exactly.run_length = 2000;
  const Simulation whole = simulated(made, EngineChoice::Evaluate, false, exactly);
  CHECK(why_whole(whole) == WholeBecause::NoState);

  exactly.run_length = 20'000;
  const Simulation longer = simulated(made, EngineChoice::Evaluate, true, exactly);
  REQUIRE(longer.long_run->repetition());
  CHECK(longer.long_run->repetition()->from > Seconds(376 * 3));
  CHECK(*longer.long_run->difference < 1e-10);
}

TEST_CASE("repeated run: a run that keeps every microbatch never repeats, and is simulated whole") {
  for (const char* schedule : {"gpipe", "looped-bfs"}) {
    CAPTURE(schedule);
    testing::RandomCase made{{}, pairwise(2), testing::fixed_plan({"looped-bfs", {}}, 2, 1100)};
    if (std::string(schedule) == "gpipe") made.plan = straight(2, 1100, "gpipe");
    made.graph = chain(testing::layers_of(made.plan), 1, 2, 0, 1);
    const Simulation simulation = simulated(made, EngineChoice::Evaluate);
    CHECK(why_whole(simulation).has_value());
    CHECK(simulation.report.devices[0].in_flight_peak >= 1100);
  }
}

TEST_CASE("repeated run: what is to be seen of every operation, and what changes, is simulated whole") {
  const testing::RandomCase made{chain(2, 1, 2), pairwise(2), straight(2, 1100, "1f1b")};
  CHECK(why_whole(simulated(made, EngineChoice::Evaluate)) == std::nullopt);
  SimulationChoices recorded;
  recorded.recording = Recording{"--trace"};
  CHECK(why_whole(simulated(made, EngineChoice::Evaluate, false, recorded)) == WholeBecause::Recorded);
  SimulationChoices twice;
  twice.iterations = 2;
  CHECK(why_whole(simulated(made, EngineChoice::Evaluate, false, twice)) == WholeBecause::Iterations);
  SimulationChoices slowed;
  slowed.events = {{.at = Seconds(1), .change = Slowdown{DeviceId(0), 2.0}}};
  slowed.listed_events = slowed.events;
  CHECK(why_whole(simulated(made, EngineChoice::Evaluate, false, slowed)) == WholeBecause::Changes);
}

TEST_CASE("repeated run: short runs are simulated as they are") {
  testing::RandomCase made{chain(2, 1, 2), pairwise(2), straight(2, kLeastLongRun - 1, "1f1b")};
  CHECK_FALSE(simulated(made, EngineChoice::Evaluate).long_run);
  made.plan.microbatches = kLeastLongRun;
  CHECK(simulated(made, EngineChoice::Evaluate).long_run);
}

TEST_CASE("repeated run: the bound of the long run is not above the one of the whole run") {
  for (std::uint32_t seed = 0; seed < 20; ++seed) {
    CAPTURE(seed);
    const testing::RandomCase chain = whole_seconds(seed);
    const Simulation short_runs = simulated(chain, EngineChoice::Evaluate);
    SimulationChoices recorded;  // so that all of it is simulated
    recorded.recording = Recording{"--trace", 100'000'000};
    const Simulation whole = simulated(chain, EngineChoice::Evaluate, false, recorded);
    REQUIRE(short_runs.bound.has_value() == whole.bound.has_value());
    if (!whole.bound) continue;
    CHECK(short_runs.bound->time <= whole.bound->time * (1.0 + 1e-12));
    CHECK(short_runs.bound->time >= whole.bound->time * 0.999);
  }
}

}  // namespace stagecraft
