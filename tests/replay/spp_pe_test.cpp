#include "sim/replay/replay_plan.hpp"
#include "tests/schedule/processing_plans.hpp"

#include <doctest/doctest.h>

namespace stagecraft {
namespace {

using namespace testing;  // NOLINT(google-build-using-namespace): the builders of the room 'schedule'

Report replayed(const RandomCase& random, NetworkModel network) {
  LowerOptions options;
  options.network = network;
  return replay_plan(random.graph, random.platform, random.plan, options, {}, {}).report;
}

std::vector<Bytes> peaks_of(const Report& report) {
  std::vector<Bytes> peaks;
  for (const DeviceReport& device : report.devices) peaks.push_back(device.memory.peak);
  return peaks;
}

void check_cases(bool strict, std::uint32_t begin, std::uint32_t end) {
  for (std::uint32_t seed = begin; seed < end; ++seed) {
    CAPTURE(seed);
    const ProcessingCase made = processing_case(seed, strict);
    const ProcessingFigures figures = executed(made);
    const Report analytic = replayed(made.random, NetworkModel::Analytic);
    CHECK(analytic.iterations.front().value() == doctest::Approx(figures.time.value()).epsilon(1e-9));
    if (strict) CHECK(peaks_of(replayed(made.random, NetworkModel::Platform)) == peaks_of(analytic));
  }
}

TEST_CASE("spp-pe: on the analytic network the replay is the execution") { check_cases(true, 1, 301); }

TEST_CASE("spp-pe: the replay takes the earliest round too where execution is by list") { check_cases(false, 1, 301); }

}  // namespace
}  // namespace stagecraft
