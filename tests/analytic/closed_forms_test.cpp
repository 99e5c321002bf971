#include "sim/analytic/evaluate_plan.hpp"
#include "tests/random_cases.hpp"
#include "tests/schedule/chains.hpp"

#include <doctest/doctest.h>

#include <algorithm>

namespace stagecraft {
namespace {

using testing::chain;
using testing::pairwise;
using testing::straight;

double iteration(std::size_t p, std::int64_t m, const char* schedule, double f, double b, double latency = 0.0) {
  const Report report = evaluate_plan(chain(p, f, b), pairwise(p, 1e9, latency), straight(p, m, schedule));
  return report.iterations.back().value();
}

/// m for p: 1 to 8, powers of two to 512, and p - 1 and p + 1.
std::vector<std::int64_t> sizes(std::int64_t extra) {
  std::vector<std::int64_t> result = {1, 2, 3, 4, 5, 6, 7, 8, 16, 32, 64, 128, 256, 512};
  if (extra > 1) result.push_back(extra - 1);
  result.push_back(extra + 1);
  return result;
}

TEST_CASE("closed form: gpipe, 1f1b and eager-1f1b take (m + p - 1)(f + b) without transfer cost") {
  const double f = 0.0123;
  const double b = 0.0271;
  for (std::int64_t p : {1, 2, 3, 4, 5, 6, 7, 8, 16, 32, 64, 128, 256, 512}) {
    if (p > testing::random_cases(512)) continue;  // the deepest pipelines take minutes under sanitizers
    for (std::int64_t m : sizes(p)) {
      const double expected = static_cast<double>(m + p - 1) * (f + b);
      for (const char* schedule : {"gpipe", "1f1b", "eager-1f1b"}) {
        CAPTURE(p);
        CAPTURE(m);
        CAPTURE(schedule);
        CHECK(iteration(static_cast<std::size_t>(p), m, schedule, f, b) == doctest::Approx(expected).epsilon(1e-12));
      }
    }
  }
}

TEST_CASE("closed form: without transfer cost every device of equal stages is idle for (p - 1)(f + b), all in ramps") {
  for (const std::size_t p : {1, 2, 3, 4, 8, 16}) {
    for (const std::int64_t m : {1, 2, 7, 8, 64}) {
      for (const char* schedule : {"gpipe", "1f1b", "eager-1f1b"}) {
        CAPTURE(p);
        CAPTURE(m);
        CAPTURE(schedule);
        const Report report = evaluate_plan(chain(p, 1, 2), pairwise(p, 1e9, 0.0), straight(p, m, schedule));
        for (const DeviceReport& device : report.devices) {
          CHECK(device.time.ramps.value() == doctest::Approx(3.0 * static_cast<double>(p - 1)));
          CHECK(device.time.idle.value() == doctest::Approx(device.time.ramps.value()));
        }
        CHECK(report.bottleneck->kind ==
              (static_cast<std::int64_t>(p) - 1 > m ? Bottleneck::Kind::Ramps : Bottleneck::Kind::Stage));
      }
    }
  }
}

TEST_CASE("closed form: a device that a slower stage holds up waits between the ramps") {
  // Stage 1 takes 6 for a microbatch and stage 0 takes 3, so stage 0 waits 3 before each backward. The first one ends
  // the ramp up, and the last two come after its last forward.
  LayerGraph graph = chain(2, 1, 2);
  graph.layers[LayerId(1)].forward = Seconds(2);
  graph.layers[LayerId(1)].backward = Seconds(4);
  for (const std::int64_t m : {8, 16, 32}) {
    CAPTURE(m);
    const Report report = evaluate_plan(graph, pairwise(2, 1e9, 0.0), straight(2, m, "1f1b"));
    const TimeSplit& fast = report.devices[0].time;
    CHECK((fast.idle - fast.ramps).value() == doctest::Approx(3.0 * static_cast<double>(m - 3)));
    CHECK(report.devices[1].time.idle.value() == doctest::Approx(report.devices[1].time.ramps.value()));
    CHECK(report.bottleneck->kind == Bottleneck::Kind::Stage);
    CHECK(report.bottleneck->stage == StageId(1));
  }
}

TEST_CASE("closed form: latency adds 2(p-1)c to gpipe and c[2(p-1)m/p + 2(p-2)] to 1f1b when p divides m") {
  // schedules.md, section 1.2; t = f + b = 3, c = 0.01 small against f.
  const double c = 0.01;
  for (std::int64_t p : {2, 3, 4, 8, 16}) {
    for (std::int64_t factor : {1, 2, 4}) {
      const std::int64_t m = p * factor;
      const auto pd = static_cast<double>(p);
      const double base = static_cast<double>(m + p - 1) * 3.0;
      CAPTURE(p);
      CAPTURE(m);
      CHECK(iteration(static_cast<std::size_t>(p), m, "gpipe", 1.0, 2.0, c) ==
            doctest::Approx(base + 2.0 * (pd - 1.0) * c).epsilon(1e-12));
      const double extra = c * (2.0 * (pd - 1.0) * static_cast<double>(factor) + 2.0 * (pd - 2.0));
      CHECK(iteration(static_cast<std::size_t>(p), m, "1f1b", 1.0, 2.0, c) ==
            doctest::Approx(base + extra).epsilon(1e-12));
    }
  }
}

TEST_CASE("closed form: eager-1f1b hides the latency of all but the first and last microbatch") {
  // schedules.md, section 1.2; t = f + b = 3, c small against t.
  for (const double c : {0.01, 0.2}) {
    for (std::int64_t p : {2, 3, 4, 8, 16}) {
      for (std::int64_t m : sizes(p)) {
        CAPTURE(c);
        CAPTURE(p);
        CAPTURE(m);
        const double expected = static_cast<double>(m + p - 1) * 3.0 + 2.0 * static_cast<double>(p - 1) * c;
        const double found = iteration(static_cast<std::size_t>(p), m, "eager-1f1b", 1.0, 2.0, c);
        CHECK(found == doctest::Approx(expected).epsilon(1e-12));
        CHECK(found <= iteration(static_cast<std::size_t>(p), m, "1f1b", 1.0, 2.0, c) * (1 + 1e-12));
      }
    }
  }
}

TEST_CASE("closed form: in flight are min(m, p - i) in 1f1b, min(m, 2(p - i) - 1) in eager-1f1b, all in gpipe") {
  for (std::size_t p : {1U, 2U, 4U, 7U}) {
    for (std::int64_t m : {1, 3, 4, 9, 20}) {
      const Report eager = evaluate_plan(chain(p, 1, 2), pairwise(p), straight(p, m, "eager-1f1b"));
      const Report one = evaluate_plan(chain(p, 1, 2), pairwise(p), straight(p, m, "1f1b"));
      const Report all = evaluate_plan(chain(p, 1, 2), pairwise(p), straight(p, m, "gpipe"));
      for (std::size_t i = 0; i < p; ++i) {
        CHECK(one.devices[i].in_flight_peak == std::min(m, static_cast<std::int64_t>(p - i)));
        CHECK(eager.devices[i].in_flight_peak == std::min(m, 2 * static_cast<std::int64_t>(p - i) - 1));
        CHECK(all.devices[i].in_flight_peak == m);
      }
    }
  }
}

TEST_CASE("closed form: the bubble of a flushed pipeline is (p - 1) / (m + p - 1)") {
  const Report report = evaluate_plan(chain(4, 1, 2), pairwise(4), straight(4, 8, "1f1b"));
  CHECK(report.bubble_ratio == doctest::Approx(3.0 / 11.0).epsilon(1e-12));
  CHECK(report.span_bubble_ratio == doctest::Approx(3.0 / 11.0).epsilon(1e-12));  // the first device works to the end
  CHECK(report.ideal_bubble_ratio == doctest::Approx(3.0 / 8.0).epsilon(1e-12));
}

TEST_CASE("closed form: peak memory is the hand-computed ledger to the byte") {
  // p = 3, m = 4: stage i keeps min(4, 3 - i) stashes of 1000 B, parameters 10 B with 1 + 1 + 2 copies, boundary
  // buffers 2 * 77 B for each side of a cut.
  const Report report = evaluate_plan(chain(3, 1, 2, 77, 1000, 10), pairwise(3), straight(3, 4, "1f1b"));
  CHECK(report.devices[0].memory.peak == Bytes(40 + 2 * 77 + 3 * 1000));
  CHECK(report.devices[1].memory.peak == Bytes(40 + 4 * 77 + 2 * 1000));
  CHECK(report.devices[2].memory.peak == Bytes(40 + 2 * 77 + 1 * 1000));
}

TEST_CASE("pipedream: the period of a straight pipeline is its slowest stage") {
  LayerGraph graph = chain(4, 1, 2);
  graph.layers[LayerId(2)].backward = Seconds(3.5);
  const Report report = evaluate_plan(graph, pairwise(4), straight(4, 40, "pipedream"));
  REQUIRE(report.period.has_value());
  CHECK(report.period->value() == doctest::Approx(4.5).epsilon(1e-12));
  CHECK(report.devices[2].bubble_ratio == doctest::Approx(0.0));
}

}  // namespace
}  // namespace stagecraft
