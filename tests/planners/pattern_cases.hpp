#pragma once

#include "planners/madpipe/pattern_search.hpp"
#include "tests/planners/madpipe_chains.hpp"
#include "tests/planners/pattern_checker.hpp"

#include <doctest/doctest.h>

#include <cstddef>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

namespace stagecraft::testing {

inline constexpr Ticks kUnit = 1'000'000'000;

/// The least pattern, checked.
inline madpipe::PatternAnswer search(const Chain& chain, const std::vector<ChainStage>& stages, Ticks longest,
                                     bool shortcuts = true) {
  const madpipe::PatternAnswer answer = madpipe::least_pattern(chain, stages, {longest, 20000, shortcuts});
  if (answer.pattern) {
    const PatternVerdict verdict = check_pattern(chain, stages, *answer.pattern);
    for (const std::string& problem : verdict.problems) FAIL_CHECK(problem);
  }
  return answer;
}

inline MadPipeInstance random_instance(unsigned seed, unsigned fewest_layers) {
  std::mt19937 random(seed);
  const auto draw = [&](unsigned least, unsigned most) {
    return static_cast<std::int64_t>(least + random() % (most - least + 1));
  };
  MadPipeInstance instance;
  const auto layers = static_cast<std::size_t>(draw(fewest_layers, 5));
  instance.devices = static_cast<std::size_t>(draw(2, 3));
  instance.beta = static_cast<double>(draw(1, 3));
  instance.outputs.push_back(draw(1, 6));
  for (std::size_t l = 0; l < layers; ++l) {
    instance.forward.push_back(static_cast<double>(draw(1, 4)));
    instance.backward.push_back(static_cast<double>(draw(1, 6)));
    instance.parameters.push_back(draw(0, 3));
    instance.outputs.push_back(draw(1, 6));
  }
  instance.memory = draw(20, 70);
  return instance;
}

inline std::vector<ChainStage> random_cut(const MadPipeInstance& instance, unsigned seed) {
  std::mt19937 random(seed + 1000);
  std::vector<ChainStage> stages{{0, 1, 0}};
  for (std::size_t l = 1; l < instance.forward.size(); ++l) {
    if (stages.size() < instance.devices && random() % 2 == 0) {
      stages.push_back({l, l, static_cast<std::uint32_t>(stages.size())});
    }
    stages.back().end = l + 1;
  }
  return stages;
}

/// Holds 1F1B* against the integer program on a random contiguous cut of each seed; how many of them fit.
inline int compare_with_star(unsigned first, unsigned last) {
  int feasible = 0;
  for (unsigned seed = first; seed <= last; ++seed) {
    CAPTURE(seed);
    const MadPipeInstance instance = random_instance(seed, 2);
    const Chain chain = instance.chain();
    const std::vector<ChainStage> stages = random_cut(instance, seed);
    const madpipe::PatternAnswer star = search(chain, stages, 1000 * kUnit);
    const madpipe::PatternAnswer program = search(chain, stages, 1000 * kUnit, false);
    CHECK(program.is_proven);
    CHECK(star.nodes == 0);
    REQUIRE(star.pattern.has_value() == program.pattern.has_value());
    if (!star.pattern) continue;
    CHECK(star.pattern->period == program.pattern->period);
    ++feasible;
  }
  return feasible;
}

}  // namespace stagecraft::testing
