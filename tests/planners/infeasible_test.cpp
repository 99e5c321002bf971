// The answers of planners when nothing fits.
#include "planners/registry.hpp"
#include "planners/shared/costs/cost_model.hpp"
#include "tests/planners/fixtures.hpp"
#include "tests/random_cases.hpp"

#include <doctest/doctest.h>

#include <random>

namespace stagecraft::infeasible_test {

using namespace stagecraft::testing;

namespace {

LayerGraph random_chain(unsigned seed) {
  std::mt19937 random(seed);
  LayerGraph graph = chain(std::vector<double>(4 + random() % 3, 1.0));
  for (Layer& layer : graph.layers) {
    layer.parameters = Bytes(static_cast<std::int64_t>(100 * (1 + random() % 9)));
    layer.stash = layer.checkpoint = Bytes(static_cast<std::int64_t>(10 * (1 + random() % 40)));
  }
  return graph;
}

void check_smallest(const PlannerInfo& planner, const std::vector<std::pair<std::string, std::string>>& options) {
  unsigned infeasible = 0;
  const unsigned cases = draws_all() ? 30 : 2;
  for (unsigned seed = 1; seed <= cases; ++seed) {
    CAPTURE(planner.name);
    CAPTURE(seed);
    const LayerGraph graph = random_chain(seed);
    const Platform platform = flat_platform(3, 100.0, Bytes(1500 + 100 * (seed % 7)));
    const PlanResult result = run_planner(planner, graph, platform, options);
    const auto* none = std::get_if<Infeasible>(&result);
    if (none == nullptr) continue;
    ++infeasible;
    CHECK_FALSE(none->reason.empty());
    REQUIRE(none->smallest_memory.has_value());
    const auto finds = [&](Bytes least) {
      return std::holds_alternative<Planned>(run_planner(planner, graph, with_memory(platform, least), options));
    };
    CHECK(finds(*none->smallest_memory));
    CHECK_FALSE(finds(*none->smallest_memory - Bytes(3)));  // bisection ends within a 4096th of a few thousand bytes
  }
  CHECK(infeasible > cases / 10);
}

}  // namespace

TEST_CASE("infeasible: every planner names the smallest memory with which it finds a plan") {
  for (const PlannerInfo* planner : all_planners()) {
    if (!wants_judge(*planner, parse_options(*planner, {})))
      check_smallest(*planner, {});  // whose refusals are those of the others
  }
  check_smallest(find_planner("uniform"), {{"replicas", "3"}});
}

TEST_CASE("infeasible: where no memory would do, none is named") {
  // Two layers cannot be a straight pipeline over three devices.
  const PlanResult result = run_planner(find_planner("pipedream"), chain({1, 1}), flat_platform(3),
                                        {{"straight", "true"}, {"memory_test", "original"}});
  REQUIRE(std::holds_alternative<Infeasible>(result));
  CHECK_FALSE(std::get<Infeasible>(result).smallest_memory.has_value());
}

TEST_CASE("infeasible: the smallest memory counts what is reserved, and leaves larger devices as they are") {
  // The whole model on either device: 4 · 100 bytes and one stash of 10.
  PlatformSpec spec = flat_platform(2, 100.0, Bytes(300)).spec;
  spec.device_kinds[DeviceKindId(0)].reserved = Bytes(7);
  spec.device_kinds.push_back({"B", Bytes(5000), 1.0, Bytes(900), std::nullopt});
  std::get<ExplicitForm>(spec.form).devices[DeviceId(1)].kind = DeviceKindId(1);
  const PlanResult result = run_planner(find_planner("data-parallel"), chain({1}), build_platform(spec), {}, 4);
  REQUIRE(std::holds_alternative<Infeasible>(result));
  CHECK(std::get<Infeasible>(result).smallest_memory == Bytes(417));
  CHECK(std::get<Infeasible>(result).excess == Bytes(410 - 293));
}

}  // namespace stagecraft::infeasible_test
