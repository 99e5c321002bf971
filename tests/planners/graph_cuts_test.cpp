// The planners of periodic schedules on graphs whose tensors skip layers and branch: against every cut of the order,
// each judged by the engine.
#include "planners/registry.hpp"
#include "planners/shared/costs/crossings.hpp"
#include "planners/shared/cuts/best_contiguous.hpp"
#include "planners/shared/cuts/contiguous_plan.hpp"
#include "planners/shared/cuts/pipedream_cut.hpp"
#include "planners/shared/cuts/star_plan.hpp"
#include "sim/analytic/evaluate_plan.hpp"
#include "sim/model/graph_order.hpp"
#include "sim/schedule/schedule_family.hpp"
#include "tests/planners/memory_chains.hpp"
#include "tests/random_cases.hpp"
#include "tests/shared_tensors.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <map>
#include <optional>
#include <random>
#include <variant>
#include <vector>

namespace stagecraft::graph_cuts_test {

using namespace stagecraft::testing;

namespace {

const PlannerInfo& contiguous() { return find_planner("contiguous"); }

/// 4 to 8 layers in a row on 2 to 4 devices, with up to twice as many edges that skip layers. An edge may be smaller
/// than the tensor, so that one tensor has several sizes. Memory is mostly tight.
MemoryProblem random_graph(unsigned seed) {
  std::mt19937 random(seed);
  const auto upto = [&](unsigned most) { return static_cast<std::int64_t>(random() % (most + 1)); };
  std::vector<LayerNumbers> layers(4 + random() % 5);
  for (LayerNumbers& layer : layers) {
    layer = {static_cast<double>(1 + upto(8)), static_cast<double>(1 + upto(11)), upto(4), 1 + upto(8)};
  }
  const std::size_t devices = 2 + random() % 3;
  const std::int64_t memory = 30 + upto(90);
  MemoryProblem problem = memory_problem(upto(7), layers, devices, memory, static_cast<double>(2 + random() % 6));
  LayerGraph& graph = problem.graph;
  const std::size_t skips = random() % (2 * layers.size());
  for (std::size_t i = 0; i < skips; ++i) {
    const std::size_t from = random() % (layers.size() - 2);
    const std::size_t to = from + 2 + random() % (layers.size() - from - 2);
    const auto is_same = [&](const LayerEdge& edge) { return edge.from == LayerId(from) && edge.to == LayerId(to); };
    if (std::ranges::any_of(graph.edges, is_same)) continue;
    const Bytes whole = graph.layers[LayerId(from)].output;
    graph.edges.push_back({LayerId(from), LayerId(to), random() % 4 == 0 ? Bytes(1 + upto(3)) : whole});
  }
  for (Layer& layer : graph.layers) {
    layer.stash = Bytes(upto(6));
    layer.workspace = Bytes(random() % 3 == 0 ? upto(5) : 0);
  }
  if (seed % 2 == 0) share_tensors(graph, seed, 3);
  if (seed % 3 == 0) problem.training.optimizer_copies = upto(2);
  if (seed % 4 == 0) problem.platform.spec.device_kinds[DeviceKindId(0)].update_bandwidth = BytesPerSecond(3);
  auto& form = std::get<ExplicitForm>(problem.platform.spec.form);
  form.default_link->duplex = Duplex::Half;
  form.default_link->sharing = Sharing::Exclusive;
  problem.platform = build_platform(problem.platform.spec);
  return problem;
}

/// The stages of every cut of the order into at most as many stages as there are devices, as a plan without a pattern:
/// the schedule then looks for the least period that fits.
template <class Visit>
void for_each_plan(const MemoryProblem& problem, Visit visit) {
  const std::vector<LayerId> order = canonical_order(problem.graph);
  for (unsigned mask = 0; mask < 1U << (order.size() - 1); ++mask) {
    Plan plan = empty_plan(contiguous(), problem.request());
    plan.stages.emplace_back().layers.push_back(order[0]);
    for (std::size_t l = 1; l < order.size(); ++l) {
      if ((mask >> (l - 1) & 1U) != 0) plan.stages.emplace_back();
      plan.stages.back().layers.push_back(order[l]);
    }
    if (plan.stages.size() > problem.platform.devices.size()) continue;
    for (std::size_t s = 0; s < plan.stages.size(); ++s) plan.stages[s].replicas = {DeviceId(s)};
    visit(plan);
  }
}

/// The period of a plan when the engine runs it; none if a device holds more than it has.
std::optional<double> period_if_it_fits(const MemoryProblem& problem, const Plan& plan) {
  const Report report = evaluate_plan(problem.graph, problem.platform, plan);
  for (const DeviceReport& device : report.devices) {
    if (device.memory.peak > problem.platform.capacity(device.device)) return std::nullopt;
  }
  return report.period->value();
}

/// The least period of all cuts.
std::optional<double> best_by_trial(const MemoryProblem& problem) {
  std::optional<double> best;
  for_each_plan(problem, [&](const Plan& plan) {
    const std::optional<double> period = period_if_it_fits(problem, plan);
    if (period && (!best || *period < *best)) best = period;
  });
  return best;
}

/// The bytes that each stage exchanges with stages on other devices, by the definition: for each pair of stages, each
/// tensor once.
std::vector<Bytes> exchanged_by_pairs(const LayerGraph& graph, const std::vector<LayerId>& order,
                                      const std::vector<ChainStage>& stages) {
  std::vector<Bytes> bytes(stages.size());
  for (std::size_t a = 0; a < stages.size(); ++a) {
    for (std::size_t b = a + 1; b < stages.size(); ++b) {
      if (stages[a].device == stages[b].device) continue;
      std::map<LayerId, Bytes> tensors;
      for (const LayerEdge& edge : graph.edges) {
        const auto at = [&](LayerId id) {
          return static_cast<std::size_t>(std::ranges::find(order, id) - order.begin());
        };
        const bool leaves = at(edge.from) >= stages[a].begin && at(edge.from) < stages[a].end;
        const bool enters = at(edge.to) >= stages[b].begin && at(edge.to) < stages[b].end;
        if (leaves && enters) tensors[edge.from] = std::max(tensors[edge.from], edge.bytes);
      }
      for (const auto& [layer, size] : tensors) {
        bytes[a] += size;
        bytes[b] += size;
      }
    }
  }
  return bytes;
}

}  // namespace

TEST_CASE("contiguous: on random graphs no cut of the order is faster, by the engine's own judgement") {
  int plans = 0;
  int infeasible = 0;
  int branching = 0;
  const int cases = draws_all() ? 600 : 30;
  for (int i = 1; i <= cases; ++i) {
    CAPTURE(i);
    const MemoryProblem problem = random_graph(static_cast<unsigned>(i));
    const std::optional<double> best = best_by_trial(problem);
    const PlanResult result = contiguous().plan(problem.request());
    REQUIRE(std::holds_alternative<Planned>(result) == best.has_value());
    const Crossings crossings(problem.graph, canonical_order(problem.graph));
    for (std::size_t cut = 0; cut <= crossings.layers(); ++cut) branching += crossings.branching(cut).empty() ? 0 : 1;
    if (!best) {
      ++infeasible;
      continue;
    }
    ++plans;
    const Plan& plan = std::get<Planned>(result).plan;
    const std::optional<double> own = period_if_it_fits(problem, plan);
    REQUIRE(own.has_value());
    CHECK(*own == doctest::Approx(*best).epsilon(1e-9));
    CHECK(plan.predicted.period->value() == doctest::Approx(*best).epsilon(1e-9));
  }
  MESSAGE(plans << " plans, " << infeasible << " of " << cases << " infeasible");
  CHECK(plans > cases / 2);
  CHECK(infeasible > cases / 20);
  CHECK(branching > cases);
}

// Layers 1, 2 and 3 send their tensors of 8, 5 and 6 B to layer 5 too. The stages 0-1, 2-3 and 4-5 have loads of 17, 18
// and 12 s, the cuts carry 8 and 19 B in 3.2 and 7.6 s. With T = 17 + 3.2 s they have 3, 2 and 1 in flight and hold
//   3 · 7 + 3 · 9 + (8 + 8) = 64,  3 · 8 + 2 · 9 + 1 + 8 + (5 + 6) = 62,  3 · 5 + 25 + 5 + (8 + 5 + 6) = 64 B.
TEST_CASE("contiguous: a tensor counts in the stages that exchange it, and in no other, by hand") {
  MemoryProblem problem =
      memory_problem(4, {{3, 3, 4, 5}, {7, 4, 3, 8}, {6, 5, 3, 5}, {2, 5, 5, 6}, {3, 3, 0, 4}, {1, 5, 5, 4}}, 3, 72, 5);
  problem.training.boundary_buffers = 1;
  LayerGraph& graph = problem.graph;
  for (std::size_t from = 1; from < 4; ++from) {
    graph.edges.push_back({LayerId(from), LayerId(5), graph.layers[LayerId(from)].output});
  }
  graph.layers[LayerId(3)].stash = Bytes(1);
  graph.layers[LayerId(4)].stash = Bytes(2);
  graph.layers[LayerId(5)].stash = Bytes(8 + 5 + 6 + 4);
  graph.layers[LayerId(3)].workspace = Bytes(1);
  graph.layers[LayerId(5)].workspace = Bytes(5);
  const PlanResult result = contiguous().plan(problem.request());
  REQUIRE(std::holds_alternative<Planned>(result));
  CHECK(std::get<Planned>(result).plan.predicted.period->value() == doctest::Approx(20.2));
}

TEST_CASE("contiguous: where labels have to be dropped the plan fits, and a note says that there may be a better one") {
  std::mt19937 random(1);
  std::vector<LayerNumbers> layers(60);
  for (LayerNumbers& layer : layers) {
    layer = {1.0 + static_cast<double>(random() % 9), 1.0 + static_cast<double>(random() % 9),
             static_cast<std::int64_t>(random() % 4), static_cast<std::int64_t>(1 + random() % 8)};
  }
  MemoryProblem problem = memory_problem(4, layers, 8, 345, 20);
  for (std::size_t from = 0; from < layers.size(); ++from) {
    for (std::size_t to = from + 2; to < layers.size(); ++to) {
      if (random() % 10 != 0) continue;
      problem.graph.edges.push_back({LayerId(from), LayerId(to), Bytes(static_cast<std::int64_t>(1 + random() % 8))});
    }
  }
  for (Layer& layer : problem.graph.layers) layer.stash = Bytes(static_cast<std::int64_t>(random() % 4));
  const PlanResult result = contiguous().plan(problem.request());
  REQUIRE(std::holds_alternative<Planned>(result));
  CHECK(std::get<Planned>(result).notes.size() == 1);
  CHECK(period_if_it_fits(problem, std::get<Planned>(result).plan).has_value());
}

TEST_CASE("crossings: what stages exchange is the sum over pairs of stages, on random graphs and devices") {
  std::mt19937 random(11);
  for (int i = 1; i <= random_cases(400); ++i) {
    CAPTURE(i);
    const MemoryProblem problem = random_graph(static_cast<unsigned>(i));
    const std::vector<LayerId> order = canonical_order(problem.graph);
    std::vector<ChainStage> stages{{0, 0, 0}};
    for (std::size_t l = 0; l < order.size(); ++l) {
      if (l > 0 && random() % 2 == 0) stages.push_back({l, l, static_cast<std::uint32_t>(random() % 3)});
      stages.back().end = l + 1;
    }
    CHECK(exchanged_bytes(Crossings(problem.graph, order), stages) == exchanged_by_pairs(problem.graph, order, stages));
  }
}

TEST_CASE("contiguous, madpipe: on random graphs the claim, the cuts and the pattern come in the specified order") {
  const PlannerInfo& madpipe = find_planner("madpipe");
  int compared = 0;
  int better = 0;
  const int cases = draws_all() ? 150 : 8;
  for (int i = 1; i <= cases; ++i) {
    CAPTURE(i);
    const MemoryProblem problem = random_graph(static_cast<unsigned>(i));
    const Chain chain = problem.chain();
    const auto pipedream = pipedream_cut(chain);
    const auto best = best_contiguous(chain);
    if (pipedream) {
      ++compared;
      CHECK(pipedream->claimed <= pipedream->achieved);
      REQUIRE(best.has_value());
      CHECK(best->period <= pipedream->achieved);
    }
    const PlanRequest base = problem.request();
    const PlanResult result = madpipe.plan({base.graph, base.platform, base.schedule, base.microbatches, base.training,
                                            parse_options(madpipe, {{"states", "exact"}})});
    if (best) REQUIRE(std::holds_alternative<Planned>(result));
    const auto* planned = std::get_if<Planned>(&result);
    if (planned == nullptr) continue;
    const std::optional<double> period = period_if_it_fits(problem, planned->plan);
    REQUIRE(period.has_value());
    CHECK(*period == doctest::Approx(planned->plan.predicted.period->value()).epsilon(1e-9));
    if (!best) continue;
    CHECK(ticks_up(*planned->plan.predicted.period) <= best->period);
    better += ticks_up(*planned->plan.predicted.period) < best->period ? 1 : 0;
  }
  MESSAGE("PipeDream has a cut in " << compared << " of " << cases << " cases; madpipe beats all cuts in " << better);
  CHECK(compared > cases / 4);
}

TEST_CASE("contiguous: the smallest memory that is named has a plan, and one byte less has none, on random graphs") {
  int named = 0;
  const int cases = draws_all() ? 300 : 10;
  for (int i = 1; i <= cases; ++i) {
    CAPTURE(i);
    const MemoryProblem problem = random_graph(static_cast<unsigned>(i)).with_memory(20);
    const PlanResult result = plan_explained(contiguous(), problem.request());
    if (!std::holds_alternative<Infeasible>(result)) continue;
    const auto smallest = std::get<Infeasible>(result).smallest_memory;
    REQUIRE(smallest.has_value());
    ++named;
    CHECK(best_by_trial(problem.with_memory(smallest->value())).has_value());
    CHECK_FALSE(best_by_trial(problem.with_memory(smallest->value() - 1)).has_value());
  }
  CHECK(named > cases / 4);
}

}  // namespace stagecraft::graph_cuts_test
