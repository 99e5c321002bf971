// Replays of random plans whose devices hold several stages.
#include "sim/analytic/evaluate_plan.hpp"
#include "sim/replay/replay_plan.hpp"
#include "sim/schedule/device_peaks.hpp"
#include "tests/random_cases.hpp"
#include "tests/schedule/shared_plans.hpp"

#include <doctest/doctest.h>

#include <array>
#include <cstddef>
#include <cstdint>

namespace stagecraft {
namespace {

TEST_CASE("replay: several stages on a device, memory is the ledger's and no run is faster than without contention") {
  for (std::uint32_t seed = 1; seed <= testing::random_cases(150U); ++seed) {
    CAPTURE(seed);
    const char* schedule = std::array{"1f1b", "eager-1f1b", "gpipe"}[seed % 3];
    const testing::RandomCase made = testing::shared_plan(seed, schedule);
    const ScheduleProgram program = require_schedule(made.graph, made.platform, made.plan);
    const Report report = replay_program(made.graph, made.platform, program).report;
    const auto peaks = device_peaks(made.graph, program);
    REQUIRE(peaks.has_value());
    REQUIRE(peaks->size() == report.devices.size());
    for (std::size_t d = 0; d < report.devices.size(); ++d) {
      CHECK((*peaks)[d].second == report.devices[d].memory.peak);
    }
    const Seconds evaluated = evaluate_program(made.graph, made.platform, program).iterations.back();
    CHECK(report.iterations.back() >= evaluated * (1 - 1e-9));
  }
}

}  // namespace
}  // namespace stagecraft
