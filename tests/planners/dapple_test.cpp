#include "planners/dapple/placement.hpp"
#include "planners/dapple/search.hpp"
#include "planners/shared/costs/cost_model.hpp"
#include "sim/analytic/evaluate_plan.hpp"
#include "sim/base/error.hpp"
#include "sim/schedule/kept_plan.hpp"
#include "sim/schedule/pipeline_times.hpp"
#include "tests/planners/dapple_cases.hpp"
#include "tests/random_cases.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <limits>
#include <random>

namespace stagecraft::dapple_test {

using dapple::Answer;
using dapple::Block;
using dapple::Latency;
using dapple::pipeline_latency;
using dapple::place;
using dapple::PlacedStage;
using dapple::Policy;
using dapple::Problem;
using dapple::Used;

namespace {

std::vector<DeviceId> ids(const std::vector<std::uint32_t>& numbers) {
  std::vector<DeviceId> devices;
  for (std::uint32_t number : numbers) devices.emplace_back(number);
  return devices;
}

/// Every plan the three policies reach: each number of layers, then of devices, then each policy, until both are used
/// up.
struct Exhaustive {
  const Problem& problem;
  double best = std::numeric_limits<double>::infinity();
  std::int64_t plans = 0;

  void from(std::size_t begin, const Used& used, std::vector<PlacedStage>& stages) {
    const auto left = static_cast<std::size_t>(std::ranges::count(used, false));
    for (std::size_t end = begin + 1; end <= problem.layers(); ++end) {
      const bool is_last = end == problem.layers();
      for (std::size_t count = is_last ? left : 1; count <= left; ++count) {
        if (!is_last && count == left) break;
        for (Policy policy : dapple::kPolicies) {
          stages.push_back({begin, end, place(policy, problem.nodes, used, count)});
          if (is_last) {
            ++plans;
            best = std::min(best, pipeline_latency(blocks_of(problem, stages), problem.microbatches).total());
          } else {
            Used after = used;
            for (DeviceId device : stages.back().devices) after[device.value()] = true;
            from(end, after, stages);
          }
          stages.pop_back();
        }
      }
    }
  }
};

}  // namespace

TEST_CASE("dapple: the latency around a pivot, by hand") {
  // Three more rounds of the last stage take 18 s, the first stage would need 9 s: the last is the pivot. Forwards
  // 1 + 0.5 + 2; then the last backward and its all-reduce, 4 + 3, end after the first stage, 4 + 0.5 + 2.
  const std::vector<Block> late = {{1, 2, 0}, {0.5, 0.5, 0}, {2, 4, 3}};
  const Latency at_the_end = pipeline_latency(late, 4);
  CHECK(at_the_end.pivot == 2);
  CHECK(at_the_end.warmup == 3.5);
  CHECK(at_the_end.steady == 18.0);
  CHECK(at_the_end.ending == 7.0);
  // 36 s against 9 s and the channel's 1 s between: the first stage. The last one's all-reduce of 20 s begins when the
  // channel's last transfer does, 0.5 s before the pivot's last backward.
  const std::vector<Block> early = {{4, 8, 5}, {0.5, 0.5, 0}, {1, 2, 20}};
  const Latency at_the_start = pipeline_latency(early, 4);
  CHECK(at_the_start.pivot == 0);
  CHECK(at_the_start.total() == 4.0 + 36.0 + 19.5);
  // 9 s against 8 s and 2 s between: not enough.
  CHECK(pipeline_latency(std::vector<Block>{{1, 2, 0}, {1, 1, 0}, {1, 1.6, 0}}, 4).pivot == 2);
}

TEST_CASE("dapple: no block takes longer than the latency allows, on random pipelines") {
  std::mt19937 random(17);
  for (int round = 0; round < random_cases(2000); ++round) {
    std::vector<Block> blocks(1 + 2 * (random() % 5));
    for (Block& block : blocks) {
      block.forward = static_cast<double>(random() % 6);
      block.backward = static_cast<double>(random() % 6);
      block.synchronise = static_cast<double>(random() % 9);
    }
    const auto microbatches = static_cast<std::int64_t>(1 + random() % 6);
    const double total = pipeline_latency(blocks, microbatches).total();
    for (const Block& block : blocks) CHECK(total >= static_cast<double>(microbatches) * block.both());
  }
}

TEST_CASE("dapple: where the three policies take devices from") {
  const std::vector<dapple::Node> nodes = stagecraft::nodes_of(cluster(2, 4, 100, 10));
  const Used none(8, false);
  Used two = none;
  two[0] = two[1] = true;
  CHECK(place(Policy::FreshFirst, nodes, two, 3) == ids({4, 5, 6}));
  CHECK(place(Policy::FreshFirst, nodes, two, 5) == ids({2, 4, 5, 6, 7}));
  CHECK(place(Policy::AppendFirst, nodes, two, 3) == ids({2, 3, 4}));
  CHECK(place(Policy::ScatterFirst, nodes, two, 3) == ids({2, 3, 4}));
  CHECK(place(Policy::ScatterFirst, nodes, none, 3) == ids({0, 1, 4}));
  Used both = none;
  both[0] = both[4] = true;
  CHECK(place(Policy::ScatterFirst, nodes, both, 4) == ids({1, 2, 5, 6}));
  CHECK(place(Policy::FreshFirst, nodes, both, 4) == ids({1, 2, 3, 5}));
}

TEST_CASE("dapple: the search against every plan that its policies reach, in random cases") {
  std::mt19937 random(77);
  int equal = 0;
  int far = 0;
  double worst = 1.0;
  const int cases = random_cases(2000);
  for (int round = 0; round < cases; ++round) {
    CAPTURE(round);
    LayerGraph graph = random_chain(random, 2 + random() % 5);
    if (random() % 2 != 0) {
      for (Layer& layer : graph.layers)
        layer.parameters = layer.parameters * static_cast<std::int64_t>(1 + random() % 8);
    }
    const double inside = 100.0 + static_cast<double>(random() % 900);
    const auto shape = random() % 4;
    const Platform platform = shape == 0   ? cluster(2, 2, inside, 30)
                              : shape == 1 ? cluster(2, 3, inside, 100)
                              : shape == 2 ? cluster(2 + random() % 4, 1, inside, inside)
                                           : cluster(3, 2, inside, 50.0 + static_cast<double>(random() % 400));
    const bool is_short = random() % 2 != 0;
    const auto microbatches = static_cast<std::int64_t>(1 + random() % (is_short ? 4 : 24));
    PlanRequest request = request_of(graph, platform, microbatches);
    const Problem problem = dapple::problem_of(request);
    Exhaustive all{problem};
    std::vector<PlacedStage> none;
    all.from(0, Used(problem.devices(), false), none);
    const Answer answer = dapple::search(problem, {});
    CHECK(answer.cuts == problem.layers() - 1);
    CHECK(answer.latency.total() >= all.best * (1 - 1e-12));
    CHECK(pipeline_latency(blocks_of(problem, answer.stages), microbatches).total() ==
          doctest::Approx(answer.latency.total()).epsilon(1e-12));
    equal += answer.latency.total() <= all.best * (1 + 1e-12) ? 1 : 0;
    far += answer.latency.total() > all.best * 1.01 ? 1 : 0;
    worst = std::max(worst, answer.latency.total() / all.best);
    if (round % 10 != 0) continue;
    request.training.gradient_bucket = Bytes(1 + round);
    const Problem bucketed = dapple::problem_of(request);
    Exhaustive hidden{bucketed};
    hidden.from(0, Used(problem.devices(), false), none);
    CHECK(hidden.best <= all.best * (1 + 1e-12));
    const double found = dapple::search(bucketed, {}).latency.total();
    CHECK(found >= hidden.best * (1 - 1e-12));
    CHECK(found <= hidden.best * 1.1);
  }
  MESSAGE("the search finds the best of all plans in " << equal << " of " << cases << " cases; in " << far
                                                       << " it is more than 1 % longer, at worst " << worst
                                                       << " times as long");
  CHECK(equal >= cases * 98 / 100);
  CHECK(worst < 1.1);
}

// The layers left would all-reduce 2.5 GB over 10 GB/s if they were one stage, so a prefix with two stages looks no
// better than one that divides its microbatches. One device a layer is best.
TEST_CASE("dapple: a straight pipeline is found though its layers would synchronise slowly as one stage") {
  LayerGraph graph = chain({1, 1, 1, 1});
  graph.microbatch_size = 16;
  const std::vector<double> forward{0.011, 0.020, 0.005, 0.014};
  const std::vector<double> backward{0.026, 0.040, 0.040, 0.017};
  const std::vector<std::int64_t> parameters{619039103, 395165935, 756825574, 744202961};
  const std::vector<std::int64_t> output{38382065, 7163873, 1612632, 7856854};
  for (std::size_t l = 0; l < 4; ++l) {
    Layer& layer = graph.layers[LayerId(l)];
    layer.forward = Seconds(forward[l]);
    layer.backward = Seconds(backward[l]);
    layer.parameters = Bytes(parameters[l]);
    if (l < 3) graph.edges[l].bytes = Bytes(output[l]);
  }
  const Platform platform = cluster(4, 1, 10e9, 10e9, Bytes(1'000'000'000'000));
  const Plan plan = plan_of(planner().plan(request_of(graph, platform, 2)));
  CHECK(plan.stages.size() == 4);
  // The second stage is the pivot: its second round takes 60 ms. Before it the forwards of two stages and the channel
  // between them, 11 + 3.8382065 + 20 ms; after it the backwards of the same.
  CHECK(plan.predicted.iteration_time->value() ==
        doctest::Approx(0.011 + 0.020 + 0.060 + 0.040 + 0.026 + 2 * 0.0038382065));
}

TEST_CASE("dapple: the claim has only what the exchange of buckets lasts beyond the last backward") {
  // Two layers of 1 s + 2 s and 100 B as one stage, whose large output nobody wants to send, on two devices at 10 B/s.
  // A microbatch takes (2 + 4) / 2 = 3 s. The last backward takes 2 s, and the rings of the two buckets 10 s each. The
  // first bucket is complete after 1 s, so 19 s are left at its end: with M = 4 that is 4 · 3 + 19 s; at once, 4 · 3 +
  // 20 s.
  LayerGraph graph = chain({1, 1});
  graph.microbatch_size = 8;
  graph.edges.front().bytes = Bytes(100'000);
  const Platform platform = cluster(2, 1, 10, 10);
  for (const auto& [bucket, seconds] : {std::pair(0, 32.0), std::pair(100, 31.0)}) {
    CAPTURE(bucket);
    PlanRequest request = request_of(graph, platform, 4);
    request.training.gradient_bucket = Bytes(bucket);
    const Plan plan = plan_of(planner().plan(request));
    REQUIRE(plan.stages.size() == 1);
    CHECK(plan.predicted.iteration_time->value() == doctest::Approx(seconds).epsilon(1e-12));
    const Report report = evaluate_plan(graph, platform, plan, {.network = NetworkModel::Analytic});
    CHECK(report.iterations.back().value() == doctest::Approx(seconds).epsilon(1e-9));
  }
}

TEST_CASE("dapple: times are those of the analytic network") {
  std::mt19937 random(23);
  double fastest = 2.0;
  double slowest = 0.0;
  std::size_t pipelines = 0;
  for (int round = 0; round < 200; ++round) {
    CAPTURE(round);
    const LayerGraph graph = random_chain(random, 2 + random() % 6);
    const Platform platform = cluster(2, 2, 1000, 100);
    PlanRequest request = request_of(graph, platform, static_cast<std::int64_t>(4 + random() % 12));
    if (round % 2 == 1) request.training.gradient_bucket = Bytes(1 + round * 17);
    const Problem problem = dapple::problem_of(request);
    const Answer answer = dapple::search(problem, {});
    const std::vector<Block> blocks = blocks_of(problem, answer.stages);
    const Plan plan = plan_of(planner().plan(request));
    const PipelineTimes times = pipeline_times(graph, platform, {graph, platform, plan});
    REQUIRE(times.resources.size() == blocks.size());
    for (std::size_t i = 0; i < blocks.size(); ++i) {
      CHECK(times.resources[i].forward.value() == doctest::Approx(blocks[i].forward).epsilon(1e-9));
      CHECK(times.resources[i].backward.value() == doctest::Approx(blocks[i].backward).epsilon(1e-9));
      // A ring sends whole bytes, and so does that of each of at most seven buckets.
      if (i % 2 == 0) CHECK(std::abs(times.synchronise[i / 2].value() - blocks[i].synchronise) < 0.08);
    }
    pipelines += plan.stages.size() > 1 ? 1 : 0;
    const Report report = evaluate_plan(graph, platform, plan, {.network = NetworkModel::Analytic});
    const double ratio = report.iterations.back().value() / plan.predicted.iteration_time->value();
    fastest = std::min(fastest, ratio);
    slowest = std::max(slowest, ratio);
  }
  CHECK(pipelines > 50);
  MESSAGE(pipelines << " of 200 plans are pipelines; executed over claimed time is from " << fastest << " to "
                    << slowest);
  CHECK(fastest > 0.9);
  CHECK(slowest < 1.5);
}

TEST_CASE("dapple: warm-up A where communication is small, B where it is not, and either on request") {
  LayerGraph graph = chain({1, 1, 1, 1});
  graph.microbatch_size = 1;  // no replicas
  const auto schedule = [&](double bandwidth, const std::string& warmup) {
    return plan_of(run_planner(planner(), graph, flat_platform(4, bandwidth), {{"warmup", warmup}})).schedule.name;
  };
  CHECK(schedule(1000, "auto") == "1f1b");      // 0.02 s against 3 s
  CHECK(schedule(40, "auto") == "eager-1f1b");  // 0.5 s against 3 s
  CHECK(schedule(1000, "b") == "eager-1f1b");
  CHECK(schedule(40, "a") == "1f1b");
  const Plan plan = plan_of(run_planner(planner(), graph, flat_platform(4, 1000)));
  REQUIRE(plan.stages.size() == 4);
  CHECK(plan.stages[0].replication == Replication::Split);
}

TEST_CASE("dapple: one device, more devices than layers, few samples, one microbatch, layers without cost") {
  CHECK(plan_of(run_planner(planner(), chain({1, 2}), flat_platform(1))).stages.size() == 1);
  LayerGraph narrow = chain({1, 2});
  narrow.microbatch_size = 1;
  const Plan single = plan_of(run_planner(planner(), narrow, flat_platform(4)));
  std::size_t devices = 0;
  for (const Stage& stage : single.stages) devices += stage.replicas.size();
  CHECK(devices <= 2);  // two layers, one sample: two devices are idle
  LayerGraph wide = chain({1, 2});
  wide.microbatch_size = 3;
  for (const Stage& stage : plan_of(run_planner(planner(), wide, flat_platform(5), {}, 1)).stages) {
    CHECK(stage.replicas.size() <= 3);
  }
  CHECK(plan_of(run_planner(planner(), chain({0, 0, 0}), flat_platform(2))).stages.size() <= 3);
}

TEST_CASE("dapple: fewer cuts where the work would be too much") {
  std::mt19937 random(1);
  const LayerGraph graph = random_chain(random, 60);
  const Problem problem = dapple::problem_of(request_of(graph, cluster(2, 4, 1000, 100), 16));
  const Answer all = dapple::search(problem, {2, 1e9});
  const Answer few = dapple::search(problem, {2, 1e4});
  CHECK(all.cuts == 59);
  CHECK(few.cuts < 20);
  CHECK(few.work <= 10000);
  CHECK(few.latency.total() >= all.latency.total());
  CHECK(few.latency.total() < 1.3 * all.latency.total());
}

TEST_CASE("dapple: on very many devices the search ends early, with a plan of all of them and a note") {
  LayerGraph graph = chain({1, 2, 3, 4, 5, 6, 7, 8});
  graph.microbatch_size = 512;
  const Platform platform = cluster(64, 8, 1000, 100, Bytes(1'000'000'000));
  const PlanResult result =
      planner().plan({graph, platform, {"", {}}, 8, {}, parse_options(planner(), {{"max_work", "1000"}})});
  std::size_t devices = 0;
  for (const Stage& stage : plan_of(result).stages) devices += stage.replicas.size();
  CHECK(devices == 512);
  CHECK(std::get<Planned>(result).notes.size() == 1);
  // No more than the first stages are placed: one for each number of devices, by each policy, with the rest behind.
  const Problem problem = dapple::problem_of({graph, platform, {"", {}}, 8, {}, parse_options(planner(), {})});
  const Answer answer = dapple::search(problem, {2, 1000});
  CHECK(answer.ended_early);
  CHECK(answer.work <= 3 * 512 * 8);
}

TEST_CASE("dapple: the slowest pair of two sets, with and without bandwidths that fall with distance") {
  std::mt19937 random(3);
  const dapple::PairTable ordered = dapple::problem_of(request_of(chain({1, 1}), cluster(3, 4, 1000, 100), 4)).channels;
  REQUIRE(ordered.is_ordered);
  dapple::PairTable plain = ordered;
  plain.is_ordered = false;
  for (int round = 0; round < 200; ++round) {
    std::vector<DeviceId> from;
    std::vector<DeviceId> to;
    for (std::uint32_t device = 0; device < 12; ++device) {
      if (random() % 3 != 0) (random() % 2 == 0 ? from : to).emplace_back(device);
    }
    if (from.empty() || to.empty()) continue;
    double steps = 0.0;
    CHECK(ordered.slowest_pair(from, to, steps) == plain.slowest_pair(from, to, steps));
    CHECK(ordered.slowest_pair(from, from, steps) == plain.slowest_pair(from, from, steps));
  }
  plain.pairs.set(DeviceId(0), DeviceId(1), BytesPerSecond(100));
  plain.pairs.set(DeviceId(0), DeviceId(11), BytesPerSecond(1000));
  double steps = 0.0;
  CHECK(plain.slowest_pair(ids({0}), ids({1, 11}), steps) == 100.0);
  CHECK(steps == 2.0);
}

TEST_CASE("dapple: what it does not plan for is refused") {
  const LayerGraph graph = chain({1, 1});
  const Platform platform = flat_platform(2);
  const auto run = [&](const std::string& schedule, const std::string& warmup) {
    return planner().plan({graph, platform, {schedule, {}}, 8, {}, parse_options(planner(), {{"warmup", warmup}})});
  };
  CHECK_THROWS_AS((void)run("pipedream", "auto"), InputError);
  CHECK_THROWS_AS((void)run("1f1b", "b"), InputError);
  CHECK(plan_of(run("gpipe", "auto")).schedule.name == "gpipe");
  CHECK(plan_of(run("1f1b", "a")).schedule.name == "1f1b");
}

}  // namespace stagecraft::dapple_test
