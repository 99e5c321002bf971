#include "experiments/run/chosen_size.hpp"

#include "planners/registry.hpp"
#include "sim/base/error.hpp"
#include "tests/planners/fixtures.hpp"
#include "tests/random_cases.hpp"

#include <doctest/doctest.h>

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <random>
#include <string>
#include <vector>

namespace stagecraft {
namespace {

void say_nothing(const std::string& /*text*/) {}

/// Forward times of each layer in seconds, by microbatch size.
using TimesBySize = std::map<std::int64_t, std::vector<double>>;

/// A measured chain with a profile for each size, on two devices with links that cost nothing.
Inputs profiled_chain(const TimesBySize& times, Bytes memory = Bytes(1'000'000)) {
  Model model;
  for (const auto& [size, seconds] : times) {
    LayerGraph graph = testing::chain(seconds);
    graph.microbatch_size = size;
    graph.origin = Origin::Measured;
    for (Layer& layer : graph.layers) layer.output = layer.stash = layer.checkpoint = Bytes(10 * size);
    for (LayerEdge& edge : graph.edges) edge.bytes = Bytes(10 * size);
    model.profiles.push_back(std::move(graph));
  }
  return {model, testing::flat_platform(2, 1e15, memory), "", ""};
}

/// Two layers of 4 + b seconds for b samples, profiled with 1 and `most` samples: all in between are on the line.
Inputs with_overhead(std::int64_t most) {
  const double longest = 4.0 + static_cast<double>(most);
  return profiled_chain({{1, {5.0, 5.0}}, {most, {longest, longest}}});
}

PlanningChoices fastest_of_batch(std::int64_t samples) {
  PlanningChoices choices;
  choices.global_batch = samples;
  choices.fastest_size = true;
  return choices;
}

struct Chosen {
  Planning planning;
  std::string said;
  [[nodiscard]] std::int64_t size() const { return planning.graph.microbatch_size; }
};

Chosen choose(const char* planner, const Inputs& inputs, const PlanningChoices& choices) {
  Chosen chosen;
  chosen.planning = plan_at_chosen_size(find_planner(planner), inputs, choices,
                                        [&](const std::string& text) { chosen.said += text + "\n"; });
  return chosen;
}

/// With one stage on each device.
PlanningChoices pipeline_of_batch(std::int64_t samples) {
  PlanningChoices choices = fastest_of_batch(samples);
  choices.options = {{"replicas", "1"}};
  return choices;
}

// A stage of one layer takes 3 (4 + b) s, and 16 / b microbatches take one more of these: 255, 162, 120, 108, 120 s.
TEST_CASE("auto: the fastest microbatches have neither the least overhead nor the least bubble") {
  const Chosen chosen = choose("gpipe", with_overhead(16), pipeline_of_batch(16));
  CHECK(chosen.size() == 8);
  REQUIRE(chosen.planning.planned() != nullptr);
  CHECK(chosen.planning.planned()->plan.microbatches == 2);
  CHECK(chosen.said ==
        "note: gpipe: microbatches of 8 samples are the fastest without contention; tried: 1 (0.0627 samples/s), 2 "
        "(0.0988), 4 (0.133), 8 (0.148), 16 (0.133)\n");
  PlanningChoices update = pipeline_of_batch(16);
  std::swap(update.global_batch, update.samples_per_update);
  CHECK(choose("gpipe", with_overhead(16), update).planning.planned()->plan == chosen.planning.planned()->plan);
}

TEST_CASE("auto: sizes that do not double are tried, too") {
  // 12 / b microbatches and one more, of 3 (4 + b) s on each of two stages: 195, 126, 105, 96, 90, 96 s.
  const Chosen chosen = choose("gpipe", with_overhead(12), pipeline_of_batch(12));
  CHECK(chosen.size() == 6);
}

TEST_CASE("auto: sizes above two in a row that do not fit are not tried") {
  Inputs inputs = with_overhead(256);
  inputs.platform = testing::flat_platform(2, 1e15, Bytes(2000));
  PlanningChoices choices = pipeline_of_batch(256);
  choices.memory = MemoryPolicy::Keep;
  const Chosen chosen = choose("uniform", inputs, choices);
  CHECK(chosen.said.find("32 (0") != std::string::npos);
  CHECK(chosen.said.ends_with("64 (does not fit), 128 (does not fit)\n"));
}

TEST_CASE("auto: sizes of the model file are tried beside those that double") {
  const Inputs inputs = profiled_chain({{4, {8.0, 8.0}}, {6, {6.0, 6.0}}, {12, {24.0, 24.0}}});
  CHECK(choose("gpipe", inputs, fastest_of_batch(12)).size() == 6);  // 96, 54 and 144 s
}

TEST_CASE("auto: sizes at which times would be extrapolated are left out, and a note says so") {
  const Chosen chosen = choose("gpipe", with_overhead(16), fastest_of_batch(64));
  CHECK(chosen.said.starts_with(
      "note: microbatches outside the sizes of the profile of 'chain' (1 to 16) are not tried"));
  CHECK(chosen.said.find("16 (") != std::string::npos);
  CHECK(chosen.said.find("32 (") == std::string::npos);
  CHECK(chosen.said.find("warning") == std::string::npos);
  const Inputs of_one = profiled_chain({{24, {1.0, 1.0}}});
  CHECK(choose("gpipe", of_one, fastest_of_batch(96)).size() == 24);
  CHECK_THROWS_WITH_AS(choose("gpipe", of_one, fastest_of_batch(100)),
                       doctest::Contains("no microbatch size of which 100"), InputError);
}

TEST_CASE("auto: of sizes that are equally fast the smallest is chosen") {
  Inputs inputs = profiled_chain({{1, {3.0, 0.7}}, {8, {24.0, 5.6}}});
  inputs.platform = testing::flat_platform(1);
  CHECK(choose("uniform", inputs, fastest_of_batch(8)).size() == 1);
}

TEST_CASE("auto: without the samples of an iteration there is nothing to choose from") {
  PlanningChoices choices = fastest_of_batch(16);
  choices.global_batch.reset();
  choices.microbatches = 4;
  CHECK_THROWS_AS(choose("gpipe", with_overhead(16), choices), InputError);
}

/// What planning for one size says.
struct SizeOutcome {
  std::optional<double> speed;  ///< none: no plan, or one that does not fit
  std::string reason;           ///< of the planner, if there is no plan
  bool is_too_small = false;
};

std::optional<SizeOutcome> outcome_at(const PlannerInfo& planner, const Inputs& inputs, PlanningChoices choices,
                                      std::int64_t size) {
  choices.fastest_size = false;
  choices.microbatch_size = size;
  try {
    const Planning planning = make_plan(planner, inputs, choices, say_nothing);
    if (const auto* none = std::get_if<Infeasible>(&planning.result)) {
      return SizeOutcome{{}, none->reason, none->fewest_samples > size};
    }
    const Report report = evaluate_planning(planning, inputs.platform, {});
    return report.out_of_memory() ? SizeOutcome{} : SizeOutcome{report.throughput, "", false};
  } catch (const InputError&) {
    return std::nullopt;
  }
}

constexpr std::array<std::int64_t, 8> kDivisors = {1, 2, 3, 4, 6, 8, 12, 24};

/// The fastest of the divisors of 24; of those larger than two of 1, 2, 4, 8, 24 in a row that do not fit, none.
std::optional<std::int64_t> fastest_size(const std::map<std::int64_t, std::optional<SizeOutcome>>& answers) {
  const auto speed_of = [&](std::int64_t size) {
    const std::optional<SizeOutcome>& answer = answers.at(size);
    return answer && answer->speed ? *answer->speed : 0.0;
  };
  std::int64_t most = 24;
  bool any_fits = false;
  int lacking = 0;
  for (const std::int64_t size : {1, 2, 4, 8, 24}) {
    any_fits = any_fits || speed_of(size) > 0.0;
    lacking = speed_of(size) > 0.0 || !any_fits ? 0 : lacking + 1;
    if (lacking < 2) continue;
    most = size;
    break;
  }
  std::optional<std::int64_t> best;
  for (const auto& [size, answer] : answers) {
    if (size > most || speed_of(size) == 0.0) continue;
    if (!best || speed_of(size) > speed_of(*best)) best = size;
  }
  return best;
}

TEST_CASE("auto: every planner's plan is the fastest of those at each size by itself") {
  std::mt19937 random(11);
  std::uniform_real_distribution<double> factor(0.6, 1.6);
  std::uniform_int_distribution<std::int64_t> memory(900, 5000);
  int found = 0;
  int without = 0;
  for (int i = 0; i < testing::random_cases(30); ++i) {
    TimesBySize times;
    for (const std::int64_t size : kDivisors) {
      for (int layer = 0; layer < 4; ++layer) {
        times[size].push_back((3.0 + static_cast<double>(size)) * factor(random));
      }
    }
    const Inputs inputs = profiled_chain(times, Bytes(memory(random)));
    const PlanningChoices choices = fastest_of_batch(24);
    for (const PlannerInfo* planner : all_planners()) {
      CAPTURE(i);
      CAPTURE(planner->name);
      std::map<std::int64_t, std::optional<SizeOutcome>> answers;
      for (const std::int64_t size : kDivisors) answers[size] = outcome_at(*planner, inputs, choices, size);
      const std::optional<std::int64_t> best = fastest_size(answers);
      const Planning planning = plan_at_chosen_size(*planner, inputs, choices, say_nothing);
      CHECK((planning.planned() != nullptr) == best.has_value());
      if (best) {
        ++found;
        CHECK(planning.graph.microbatch_size == *best);
        CHECK(evaluate_planning(planning, inputs.platform, {}).throughput == *answers[*best]->speed);
        continue;
      }
      ++without;
      const std::optional<SizeOutcome>& smallest = answers[planning.graph.microbatch_size];
      REQUIRE(smallest);
      if (!smallest->reason.empty()) CHECK(std::get<Infeasible>(planning.result).reason == smallest->reason);
      for (const auto& [size, answer] : answers) {
        if (size >= planning.graph.microbatch_size) break;
        CHECK((!answer || answer->is_too_small));
      }
    }
  }
  CHECK(found > 0);
  CHECK(without > 0);
}

}  // namespace
}  // namespace stagecraft
