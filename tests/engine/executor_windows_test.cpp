#include "sim/analytic/heap_clock.hpp"
#include "sim/schedule/lower.hpp"
#include "sim/schedule/schedule_family.hpp"
#include "tests/schedule/chains.hpp"

#include <doctest/doctest.h>

#include <utility>
#include <vector>

namespace stagecraft {
namespace {

// The second stage's third replica never has a microbatch, so its lane is closed from the start; else it would be
// starved, and every window would be loaded at once.
TEST_CASE("executor: a device without work does not bring in all windows") {
  const Platform platform = testing::pairwise(4);
  const LayerGraph graph = testing::chain(2, 0.01, 0.02);
  Plan plan = testing::straight(2, 2, "1f1b");
  plan.stages[1].replicas = {DeviceId(1), DeviceId(2), DeviceId(3)};
  LowerOptions options;
  options.iterations = 200;
  options.window_operations = 16;
  const LoweredRun run = lower(graph, platform, require_schedule(graph, platform, plan), options);
  std::vector<Seconds> pulled_at;
  OpSource source{[&](const Observation& observation) {
                    pulled_at.push_back(observation.now);
                    return run.source.next(observation);
                  },
                  false};
  Timeline timeline;
  evaluate_by_events(platform, std::move(source), {}, collect_into(timeline));
  const double end = timeline.back().end.value();
  REQUIRE(pulled_at.size() > 100);
  CHECK(pulled_at[pulled_at.size() / 2].value() == doctest::Approx(end / 2).epsilon(0.05));
}

}  // namespace
}  // namespace stagecraft
