// A period that cannot last is not called converged, by either engine.
#include "experiments/run/simulation.hpp"
#include "experiments/view/update_words.hpp"
#include "sim/model/plan.hpp"
#include "sim/schedule/schedule_family.hpp"
#include "tests/schedule/chains.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <cstdint>
#include <optional>

namespace stagecraft {
namespace {

/// Stage 1 takes 3.03 s for a microbatch and stage 0 only 3 s; as stage 0 has up to 20 in flight, it slows down only
/// after more than 500 (tests/analytic/convergence_test.cpp).
struct SlowStage {
  LayerGraph graph = testing::chain(2, 1, 2);
  Platform platform = testing::pairwise(2);
  Plan plan = testing::straight(2, 40, "pipedream");
  SlowStage() {
    graph.layers[LayerId(1)].forward = Seconds(1.01);
    graph.layers[LayerId(1)].backward = Seconds(2.02);
    plan.schedule.parameters = {{"depth", std::int64_t{20}}};
    plan.stages[0].in_flight = 20;
    plan.stages[1].in_flight = 1;
  }
  [[nodiscard]] Simulation run(EngineChoice engine, std::optional<std::int64_t> length) const {
    SimulationChoices choices;
    choices.engine = engine;
    choices.run_length = length;
    return simulate_program(graph, platform, require_schedule(graph, platform, plan), choices, Settings());
  }
};

}  // namespace

TEST_CASE("steady period: a run goes on until its period is that of its slowest stage") {
  for (const EngineChoice engine : {EngineChoice::Evaluate, EngineChoice::Replay}) {
    CAPTURE(to_string(engine));
    const Simulation simulation = SlowStage().run(engine, std::nullopt);
    CHECK(simulation.report.converged());
    CHECK(simulation.report.period->value() == doctest::Approx(3.03).epsilon(1e-9));
    REQUIRE(simulation.over_bound());
    CHECK(*simulation.over_bound() == doctest::Approx(1.0).epsilon(1e-9));
  }
}

TEST_CASE("steady period: a run of a given length that is faster than its slowest stage has not converged") {
  for (const EngineChoice engine : {EngineChoice::Evaluate, EngineChoice::Replay}) {
    CAPTURE(to_string(engine));
    const Simulation simulation = SlowStage().run(engine, 209);
    CHECK(simulation.report.period->value() == doctest::Approx(3.0).epsilon(1e-9));
    CHECK(std::abs(simulation.report.drift.value()) < 1e-9);
    CHECK(!simulation.report.converged());
    CHECK(!simulation.over_bound());
    CHECK(drift_text(simulation.report) ==
          "a microbatch takes 0.99 % less in the measured part than it can in the long run, 3.03 s, so work piles up");
  }
}

}  // namespace stagecraft
