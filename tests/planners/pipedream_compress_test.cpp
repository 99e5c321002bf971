#include "planners/pipedream/down_sets.hpp"
#include "planners/pipedream/recurrence.hpp"
#include "planners/registry.hpp"
#include "sim/base/error.hpp"
#include "tests/planners/fixtures.hpp"
#include "tests/planners/pipedream_evaluator.hpp"
#include "tests/planners/pipedream_oracle.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <vector>

/// Planning on part of the down-sets.
namespace stagecraft::pipedream_compress_test {

using namespace stagecraft::testing;
using pipedream::DownSets;
using pipedream::enumerate_down_sets;
using pipedream::narrowed_down_sets;

namespace {

std::set<LayerId> members(const DownSets& states, std::size_t state) {
  const std::vector<LayerId> layers = pipedream::layers_between(states, pipedream::kNothing, state);
  return {layers.begin(), layers.end()};
}

double period(const DownSets& states, std::uint32_t devices) {
  pipedream::Settings settings;
  settings.levels = {{devices, BytesPerSecond(200.0)}};
  return optimize(states, settings).period;
}

/// A source, `branches` chains of `length` layers each, and a sink: (length + 1)^branches + 1 down-sets.
LayerGraph parallel_branches(std::size_t branches, std::size_t length) {
  LayerGraph graph = random_chain(1, branches * length + 2);
  graph.edges.clear();
  const LayerId sink(branches * length + 1);
  const auto join = [&](LayerId from, LayerId to) { graph.edges.push_back({from, to, graph.layers[from].output}); };
  for (std::size_t b = 0; b < branches; ++b) {
    LayerId last(0);
    for (std::size_t i = 0; i < length; ++i) {
      const LayerId next(1 + b * length + i);
      join(last, next);
      last = next;
    }
    join(last, sink);
  }
  return graph;
}

}  // namespace

TEST_CASE("pipedream compress: with room for all states it leaves none out") {
  for (unsigned seed = 1; seed <= 50; ++seed) {
    CAPTURE(seed);
    const LayerGraph graph = random_graph(seed, 3 + seed % 7);
    const DownSets all = enumerate_down_sets(graph, 10'000).value();
    const DownSets narrowed = narrowed_down_sets(graph, all.count).value();
    CHECK(narrowed.width == 0);
    REQUIRE(narrowed.count == all.count);
    std::set<std::set<LayerId>> expected;
    std::set<std::set<LayerId>> found;
    for (std::size_t s = 0; s < all.count; ++s) {
      expected.insert(members(all, s));
      found.insert(members(narrowed, s));
    }
    CHECK(found == expected);
    CHECK(period(narrowed, 3) == doctest::Approx(period(all, 3)).epsilon(1e-12));
  }
}

TEST_CASE("pipedream compress: what it keeps are down-sets with their own traffic, no more than the limit") {
  for (unsigned seed = 1; seed <= 50; ++seed) {
    CAPTURE(seed);
    const LayerGraph graph = random_graph(seed, 6 + seed % 4);
    const std::vector<std::set<LayerId>> family = down_set_family(graph);
    for (std::size_t limit = graph.layers.size(); limit < family.size(); ++limit) {
      const auto narrowed = narrowed_down_sets(graph, limit);
      REQUIRE(narrowed.has_value());
      CHECK(narrowed->count <= limit);
      CHECK(narrowed->width > 0);
      std::map<std::size_t, std::size_t> of_size;
      for (std::size_t s = 0; s < narrowed->count; ++s) {
        const std::set<LayerId> set = members(*narrowed, s);
        CHECK(std::ranges::find(family, set) != family.end());
        CHECK(narrowed->traffic[s] == doctest::Approx(boundary_traffic(graph, set)).epsilon(1e-12));
        CHECK(++of_size[set.size()] <= narrowed->width);
      }
      CHECK(members(*narrowed, narrowed->count - 1).size() == graph.layers.size());
    }
    CHECK_FALSE(narrowed_down_sets(graph, 1).has_value());
  }
}

TEST_CASE("pipedream compress: of each size the sets with the least traffic stay") {
  // A source s feeds a and b, which feed t. Of {s a} and {s b} the one whose layer sends less stays: {s b}.
  LayerGraph graph = chain({1, 1, 1, 1});
  graph.edges = {{LayerId(0), LayerId(1), Bytes(1)},
                 {LayerId(0), LayerId(2), Bytes(1)},
                 {LayerId(1), LayerId(3), Bytes(1)},
                 {LayerId(2), LayerId(3), Bytes(1)}};
  const std::vector<std::int64_t> outputs = {1, 9, 5, 1};
  for (std::size_t i = 0; i < 4; ++i) graph.layers[LayerId(i)].output = Bytes(outputs[i]);
  const DownSets states = narrowed_down_sets(graph, 4).value();
  REQUIRE(states.count == 4);
  CHECK(states.width == 1);
  CHECK(members(states, 1) == std::set<LayerId>{LayerId(0), LayerId(2)});
}

TEST_CASE("pipedream compress: the loss on 300 random graphs, with half and a quarter of the states") {
  // Never better than the exact answer.
  for (const double share : {0.5, 0.25}) {
    double sum = 0.0;
    double worst = 0.0;
    int cases = 0;
    for (unsigned seed = 1; seed <= 300; ++seed) {
      const LayerGraph graph = random_graph(seed, 8 + seed % 5);
      const DownSets all = enumerate_down_sets(graph, 100'000).value();
      const auto limit = static_cast<std::size_t>(share * static_cast<double>(all.count));
      const auto narrowed = narrowed_down_sets(graph, limit);
      if (!narrowed) continue;
      const double exact = period(all, 4);
      const double loss = period(*narrowed, 4) / exact - 1.0;
      CHECK(loss > -1e-12);
      sum += loss;
      worst = std::max(worst, loss);
      ++cases;
    }
    MESSAGE("share " << share << ": " << cases << " cases, mean loss " << sum / cases << ", worst " << worst);
    CHECK(cases >= 20);
  }
}

TEST_CASE("pipedream compress: a graph of eight branches is planned with a note, and refused without compression") {
  // 5^8 + 1 = 390,626 down-sets.
  const LayerGraph graph = parallel_branches(8, 4);
  const Platform platform = flat_platform(4, 200.0);
  for (const char* name : {"pipedream", "pipedream-sync"}) {
    CAPTURE(name);
    const PlannerInfo& planner = as_in_paper(name);
    const PlanResult result = run_planner(planner, graph, platform, {{"max_work", "1e6"}});
    REQUIRE(std::holds_alternative<Planned>(result));
    const Planned& planned = std::get<Planned>(result);
    REQUIRE(planned.notes.size() == 1);
    CHECK(planned.notes[0].find("too many down-sets") != std::string::npos);
    std::size_t layers = 0;
    for (const Stage& stage : planned.plan.stages) layers += stage.layers.size();
    CHECK(layers == graph.layers.size());
    CHECK_THROWS_WITH_AS((void)run_planner(planner, graph, platform, {{"compress", "false"}}),
                         doctest::Contains("more than 200000 states"), InputError);
  }
}

TEST_CASE("pipedream compress: where one set of each size is too many, sets of about equal parts of the work stay") {
  const DownSets states = pipedream::thinned_down_sets(chain(std::vector<double>(20, 1.0)), 5);
  REQUIRE(states.count == 5);
  for (std::size_t state = 0; state < 5; ++state) {
    CHECK(members(states, state).size() == 4 * (state + 1));
    CHECK(states.compute[state] == doctest::Approx(3.0 * 4.0 * static_cast<double>(state + 1)));
  }
  for (unsigned seed = 1; seed <= 50; ++seed) {
    CAPTURE(seed);
    const LayerGraph graph = random_graph(seed, 8 + seed % 5);
    const DownSets all = enumerate_down_sets(graph, 100'000).value();
    for (std::size_t most = 1; most <= graph.layers.size(); ++most) {
      const DownSets part = pipedream::thinned_down_sets(graph, most);
      CHECK(part.count <= most);
      CHECK(members(part, part.count - 1).size() == graph.layers.size());
      CHECK(period(part, 4) >= period(all, 4) * (1.0 - 1e-12));
    }
  }
}

TEST_CASE("pipedream compress: a chain that exceeds max_work is planned on part of its cuts") {
  const LayerGraph graph = random_chain(3, 60);
  const Platform platform = flat_platform(8, 200.0);
  const PlanResult result = run_planner(find_planner("pipedream"), graph, platform, {{"max_work", "20000"}});
  REQUIRE(std::holds_alternative<Planned>(result));
  std::size_t layers = 0;
  for (const Stage& stage : std::get<Planned>(result).plan.stages) layers += stage.layers.size();
  CHECK(layers == 60);
  CHECK(std::get<Planned>(result).notes.size() == 1);
}

}  // namespace stagecraft::pipedream_compress_test
