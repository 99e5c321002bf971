#pragma once

#include "planners/dawnpiper/partition.hpp"
#include "planners/shared/savings/saving.hpp"
#include "planners/shared/savings/saving_pipeline.hpp"
#include "tests/planners/saving_cases.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace stagecraft::testing {

/// A unit as the specification writes it: (f, b, w, a, c).
struct UnitNumbers {
  double forward = 0.0;
  double backward = 0.0;
  std::int64_t parameters = 0;
  std::int64_t stash = 0;
  std::int64_t checkpoint = 0;
};

/// A pipeline of units, without a graph. Stage x of l (from 0) holds at most l - x microbatches and, if it is
/// asynchronous, as many versions of its weights; gradients count once and the optimizer twice. Units keep their stash
/// to the end of the stage's backward, as the specification has it, or free it after their own.
struct UnitPipeline {
  std::vector<UnitNumbers> units;
  std::size_t stages = 2;
  bool asynchronous = true;
  std::int64_t capacity = 0;
  double bandwidth = 0.0;
  bool holds_to_end = true;

  [[nodiscard]] std::int64_t in_flight(std::size_t stage) const { return static_cast<std::int64_t>(stages - stage); }
  [[nodiscard]] std::int64_t copies(std::size_t stage) const { return (asynchronous ? in_flight(stage) : 1) + 1 + 2; }

  [[nodiscard]] SavingStage stage(std::size_t at, std::size_t begin, std::size_t end) const {
    SavingStage stage;
    std::int64_t parameters = 0;
    for (std::size_t i = begin; i < end; ++i) {
      const UnitNumbers& unit = units[i];
      parameters += unit.parameters;
      stage.units.push_back({Seconds(unit.forward), Seconds(unit.backward), Bytes(unit.stash), Bytes(unit.checkpoint)});
      if (holds_to_end) stage.units.back().shared = Bytes(unit.stash);
    }
    stage.budget.in_flight = in_flight(at);
    stage.budget.resident = std::min<std::int64_t>(in_flight(at), 2);
    stage.budget.held = Bytes(parameters * copies(at));
    stage.budget.capacity = Bytes(capacity);
    stage.budget.bandwidth = bandwidth;
    return stage;
  }

  [[nodiscard]] dawnpiper::PartitionProblem problem() const {
    dawnpiper::PartitionProblem problem;
    for (std::size_t s = 0; s < stages; ++s) {
      problem.places.push_back({1.0, in_flight(s), static_cast<double>(copies(s))});
    }
    problem.compute.resize(units.size() + 1);
    problem.stash.resize(units.size() + 1);
    for (std::size_t i = 0; i < units.size(); ++i) {
      problem.compute[i + 1] = problem.compute[i] + Seconds(units[i].forward + units[i].backward);
      problem.stash[i + 1] = problem.stash[i] + Bytes(units[i].stash);
    }
    problem.parameters = [pipeline = *this](std::size_t begin, std::size_t end) {
      Bytes sum;
      for (std::size_t i = begin; i < end; ++i) sum += Bytes(pipeline.units[i].parameters);
      return sum;
    };
    problem.stage = [pipeline = *this](std::size_t at, std::size_t begin, std::size_t end) {
      return pipeline.stage(at, begin, end);
    };
    return problem;
  }
};

inline std::vector<UnitNumbers> repeated(const UnitNumbers& unit, std::size_t count) { return {count, unit}; }

/// The actions of each stage in a word, such as `krrs`.
inline std::vector<std::string> letters(const dawnpiper::Partition& partition) {
  std::vector<std::string> words;
  for (const StageSaving& saving : partition.savings) words.push_back(action_letters(saving.actions));
  return words;
}

}  // namespace stagecraft::testing
