#include "sim/analytic/evaluate_plan.hpp"
#include "tests/schedule/compiled.hpp"
#include "tests/schedule/fixed_plans.hpp"
#include "tests/schedule/orders_text.hpp"

#include <doctest/doctest.h>

#include <algorithm>

namespace stagecraft {
namespace {

using namespace testing;  // NOLINT(google-build-using-namespace): the builders of this room

TEST_CASE("zb-h2: forwards until the first gradient returns, and weight halves where four microbatches are in flight") {
  const Schedule schedule = compiled(fixed_plan({"zb-h2", {}}, 2, 5)).orders({0, 5});
  CHECK(order_text(schedule.devices[0]) ==
        "F0.0 F0.1 F0.2 I0.0 F0.3 I0.1 W0.0 F0.4 W0.1 I0.2 W0.2 I0.3 W0.3 I0.4 W0.4");
  CHECK(order_text(schedule.devices[1]) ==
        "F1.0 I1.0 F1.1 I1.1 F1.2 I1.2 F1.3 I1.3 W1.0 F1.4 I1.4 W1.1 W1.2 W1.3 W1.4");
}

TEST_CASE("zb-h2: equal times leave only the bubble of the first forwards, with twice the memory of 1f1b") {
  for (const std::size_t p : {1U, 2U, 3U, 5U}) {
    for (const std::size_t m : {2 * p - 1, 2 * p, 4 * p + 1}) {
      CAPTURE(p);
      CAPTURE(m);
      const Plan plan = fixed_plan({"zb-h2", {}}, p, static_cast<std::int64_t>(m));
      const Report report = evaluate_plan(chain(p, 1, 2), pairwise(p), plan);
      CHECK(report.iterations.back().value() ==
            doctest::Approx(3 * static_cast<double>(m) + static_cast<double>(p - 1)).epsilon(1e-9));
      CHECK(report.span_bubble_ratio == doctest::Approx(0.0));
      const auto most = static_cast<std::int64_t>(std::min(m, 2 * p));
      CHECK(std::ranges::max(compiled(plan).in_flight) == most);
    }
  }
}

}  // namespace
}  // namespace stagecraft
