#include "sim/analytic/evaluate_plan.hpp"
#include "tests/schedule/compiled.hpp"
#include "tests/schedule/fixed_plans.hpp"
#include "tests/schedule/orders_text.hpp"

#include <doctest/doctest.h>

namespace stagecraft {
namespace {

using namespace testing;  // NOLINT(google-build-using-namespace): the builders of this room

TEST_CASE("interleaved-zb-h1: device i has i input halves ahead of its weight halves") {
  const Schedule schedule = compiled(fixed_plan({"interleaved-zb-h1", {}}, 2, 2)).orders({0, 2});
  CHECK(order_text(schedule.devices[0]) == "F0.0 F0.1 F2.0 F2.1 I2.0 W2.0 I2.1 W2.1 I0.0 W0.0 I0.1 W0.1");
  CHECK(order_text(schedule.devices[1]) == "F1.0 F1.1 F3.0 I3.0 F3.1 I3.1 W3.0 I1.0 W3.1 I1.1 W1.0 W1.1");
}

TEST_CASE("interleaved-zb-h1: the time is the closed form, and each device has p chunks of each microbatch in flight") {
  for (const std::size_t p : {2U, 3U, 4U}) {
    for (const std::int64_t v : {2, 3}) {
      for (const auto m : {p, 2 * p, 6 * p}) {
        CAPTURE(p);
        CAPTURE(v);
        CAPTURE(m);
        const Plan plan = fixed_plan({"interleaved-zb-h1", {{"chunks", v}}}, p, static_cast<std::int64_t>(m));
        const Report report = evaluate_plan(chain(plan.stages.size(), 1, 2), pairwise(p), plan);
        // v m t + (p - 1)(f + b - w) with f = b = w.
        const double work = 3 * static_cast<double>(m) * static_cast<double>(v);
        CHECK(report.iterations.back().value() == doctest::Approx(work + static_cast<double>(p - 1)).epsilon(1e-9));
        for (const auto& device : report.devices) {
          CHECK(device.in_flight_peak == v * static_cast<std::int64_t>(p));
        }
      }
    }
  }
}

TEST_CASE("interleaved-zb-h1: groups are equal") {
  CHECK(refusal_of(fixed_plan({"interleaved-zb-h1", {}}, 2, 5)) ==
        "interleaved-zb-h1 on 2 devices needs 2 equal groups of microbatches, but the plan has 5");
  CHECK(refusal_of(fixed_plan({"interleaved-zb-h1", {}}, 4, 10)).empty());
  CHECK(refusal_of(fixed_plan({"interleaved-zb-h1", {}}, 4, 3)).empty());
}

}  // namespace
}  // namespace stagecraft
