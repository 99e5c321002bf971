// The record of a run, which not every run may have.
#include "experiments/run/simulation.hpp"
#include "sim/base/error.hpp"
#include "sim/schedule/schedule_family.hpp"
#include "tests/schedule/chains.hpp"

#include <doctest/doctest.h>

#include <cstdint>
#include <string>

namespace stagecraft {
namespace {

using testing::chain;
using testing::pairwise;
using testing::straight;

/// A run of two stages with a record of at most so many operations.
Simulation recorded_run(const std::string& schedule, EngineChoice engine, std::int64_t most) {
  const LayerGraph graph = chain(2, 1, 2, 1000);
  const Platform platform = pairwise(2);
  SimulationChoices choices;
  choices.engine = engine;
  choices.recording = Recording{"--trace", most};
  return simulate_program(graph, platform, require_schedule(graph, platform, straight(2, 4, schedule)), choices,
                          Settings());
}

}  // namespace

TEST_CASE("recording: a run has as many operations as its record may have, and no more") {
  for (const char* schedule : {"1f1b", "pipedream"}) {
    for (const EngineChoice engine : {EngineChoice::Evaluate, EngineChoice::Replay}) {
      CAPTURE(schedule);
      const std::int64_t operations = std::ssize(recorded_run(schedule, engine, 1'000'000).record.timeline);
      CHECK(operations > 4 * 2 * 2);
      CHECK(std::ssize(recorded_run(schedule, engine, operations).record.timeline) == operations);
      for (const std::int64_t most : {operations - 1, std::int64_t{1}}) {
        try {
          static_cast<void>(recorded_run(schedule, engine, most));
          FAIL("not refused");
        } catch (const InputError& error) {
          CHECK(error.place().key == "--trace");
        }
      }
    }
  }
}

}  // namespace stagecraft
