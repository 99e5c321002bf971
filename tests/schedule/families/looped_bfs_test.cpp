#include "sim/analytic/evaluate_plan.hpp"
#include "tests/schedule/compiled.hpp"
#include "tests/schedule/fixed_plans.hpp"
#include "tests/schedule/orders_text.hpp"

#include <doctest/doctest.h>

namespace stagecraft {
namespace {

using namespace testing;  // NOLINT(google-build-using-namespace): the builders of this room

TEST_CASE("looped-bfs: all forwards of one chunk after the other, then all backwards, the last microbatch first") {
  const Schedule schedule = compiled(fixed_plan({"looped-bfs", {}}, 2, 2)).orders({0, 2});
  CHECK(order_text(schedule.devices[0]) == "F0.0 F0.1 F2.0 F2.1 B2.1 B2.0 B0.1 B0.0");
  CHECK(order_text(schedule.devices[1]) == "F1.0 F1.1 F3.0 F3.1 B3.1 B3.0 B1.1 B1.0");
}

TEST_CASE("looped-bfs: the time is the closed form, and every microbatch is in flight") {
  for (const std::size_t p : {2U, 3U, 4U}) {
    for (const std::int64_t v : {2, 3}) {
      for (const auto m : {2 * p, 2 * p + 1, 5 * p}) {
        CAPTURE(p);
        CAPTURE(v);
        CAPTURE(m);
        const Plan plan = fixed_plan({"looped-bfs", {{"chunks", v}}}, p, static_cast<std::int64_t>(m));
        CHECK(compiled(plan).in_flight == std::vector<std::int64_t>(p * static_cast<std::size_t>(v), std::int64_t(m)));
        // Forward 1 s, backward 2 s, transfers of 0.25 s: (m v + p - 1)(f + b) + 2 (p - 1) c.
        const Report report = evaluate_plan(chain(plan.stages.size(), 1, 2, 1), pairwise(p, 1e12, 0.25), plan);
        const double rounds = static_cast<double>(m) * static_cast<double>(v) + static_cast<double>(p) - 1;
        CHECK(report.iterations.back().value() ==
              doctest::Approx(3 * rounds + 0.5 * static_cast<double>(p - 1)).epsilon(1e-9));
      }
    }
  }
}

}  // namespace
}  // namespace stagecraft
