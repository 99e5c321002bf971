#include "sim/analytic/evaluate_plan.hpp"
#include "tests/schedule/compiled.hpp"
#include "tests/schedule/fixed_plans.hpp"
#include "tests/schedule/orders_text.hpp"

#include <doctest/doctest.h>

namespace stagecraft {
namespace {

using namespace testing;  // NOLINT(google-build-using-namespace): the builders of this room

TEST_CASE("zb-h1: device i splits the first i backwards and those after its last forward") {
  const Schedule schedule = compiled(fixed_plan({"zb-h1", {}}, 3, 4)).orders({0, 4});
  CHECK(order_text(schedule.devices[0]) == "F0.0 F0.1 F0.2 B0.0 F0.3 B0.1 B0.2 B0.3");
  CHECK(order_text(schedule.devices[1]) == "F1.0 F1.1 I1.0 F1.2 B1.1 F1.3 I1.2 W1.2 I1.3 W1.3 W1.0");
  CHECK(order_text(schedule.devices[2]) == "F2.0 I2.0 F2.1 I2.1 F2.2 B2.2 F2.3 I2.3 W2.3 W2.1 W2.0");
}

TEST_CASE("zb-h1: the time is the closed form, and as many microbatches are in flight as there are devices") {
  struct Times {
    double forward;
    double input;
    double weight;
  };
  for (const Times& times : {Times{1, 1, 1}, Times{4, 3, 3}, Times{3, 4, 2}}) {
    for (const std::size_t p : {1U, 2U, 4U, 5U}) {
      for (const std::size_t m : {p, 2 * p, 2 * p + 3}) {
        CAPTURE(p);
        CAPTURE(m);
        const Plan plan = fixed_plan({"zb-h1", {}}, p, static_cast<std::int64_t>(m));
        LayerGraph graph = chain(p, times.forward, times.input + times.weight);
        for (Layer& layer : graph.layers) layer.backward_weight = Seconds(times.weight);
        const Report report = evaluate_plan(graph, pairwise(p), plan);
        // m t + (p - 1)(f + b - w), if that is the largest of f + b - w, f and b.
        const double all = times.forward + times.input + times.weight;
        const double expected = static_cast<double>(m) * all + static_cast<double>(p - 1) * (all - 2 * times.weight);
        CHECK(report.iterations.back().value() == doctest::Approx(expected).epsilon(1e-9));
        CHECK(compiled(plan).in_flight == std::vector<std::int64_t>(p, static_cast<std::int64_t>(p)));
      }
    }
  }
}

}  // namespace
}  // namespace stagecraft
