#pragma once

#include "planners/shared/savings/saving_pipeline.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

// Stages and chains of units without a graph, and what an enumeration of all actions says about them.
namespace stagecraft::testing {

inline SavingUnit unit(double forward, double backward, std::int64_t stash, std::int64_t checkpoint) {
  return {Seconds(forward), Seconds(backward), Bytes(stash), Bytes(checkpoint)};
}

/// One letter for each unit: k, s, r, or j for one in a segment with that before it.
inline std::string action_letters(const std::vector<UnitAction>& actions) {
  std::string text;
  for (const UnitAction action : actions) text += std::string("ksrj")[static_cast<std::size_t>(action)];
  return text;
}
inline std::vector<UnitAction> actions_from(const std::string& text) {
  std::vector<UnitAction> actions;
  for (const char letter : text) actions.push_back(static_cast<UnitAction>(std::string("ksrj").find(letter)));
  return actions;
}

/// The units [begin, end) of a chain as one: of its checkpoint that of the first is left.
inline SavingUnit joined(const std::vector<SavingUnit>& units, std::size_t begin, std::size_t end) {
  SavingUnit all;
  for (std::size_t i = begin; i < end; ++i) {
    all.forward += units[i].forward;
    all.backward += units[i].backward;
    all.stash += units[i].stash;
    all.shared += units[i].shared;
    all.workspace = std::max(all.workspace, units[i].workspace);
  }
  all.checkpoint = units[begin].checkpoint;
  return all;
}

/// The stage with segments of any units.
inline SavingStage with_segments(SavingStage stage) {
  stage.segments = [units = stage.units](std::size_t first, std::size_t end) {
    std::vector<SavingUnit> segments;
    for (std::size_t begin = end; begin-- > first;) segments.push_back(joined(units, begin, end));
    return segments;
  };
  return stage;
}

/// A chain of units on stages of an asynchronous pipeline, or of one that flushes: stage x of l, counted from 0, has
/// l - x microbatches in flight, and as many weight versions or one. There are a gradient and two optimizer copies.
/// Units keep their stash to the end of the stage's backward, as the specification has it, or free it after their own.
struct SavingChain {
  std::vector<SavingUnit> units;
  std::vector<std::int64_t> parameters;
  std::int64_t stages = 4;
  Bytes capacity;
  double bandwidth = 0.0;
  std::vector<double> slowdown = {};  ///< by stage; empty: none
  bool flushes = false;
  bool holds_to_end = true;

  [[nodiscard]] SavingStage stage(std::size_t stage, std::size_t begin, std::size_t end) const {
    const std::int64_t in_flight = stages - static_cast<std::int64_t>(stage);
    SavingStage result;
    std::int64_t weights = 0;
    for (std::size_t i = begin; i < end; ++i) {
      weights += parameters[i];
      SavingUnit unit = units[i];
      const double factor = slowdown.empty() ? 1.0 : slowdown[stage];
      unit.forward = unit.forward * factor;
      unit.backward = unit.backward * factor;
      if (holds_to_end) unit.shared = unit.stash;
      result.units.push_back(unit);
    }
    result.budget.in_flight = in_flight;
    result.budget.resident = std::min<std::int64_t>(in_flight, 2);
    result.budget.held = Bytes(weights * ((flushes ? 1 : in_flight) + 3));
    result.budget.capacity = capacity;
    result.budget.bandwidth = bandwidth;
    return result;
  }
};

/// The units of the specification's examples, each with the weights `w`.
inline SavingChain equal_units(std::size_t count, const SavingUnit& unit, std::int64_t w) {
  SavingChain chain;
  chain.units.assign(count, unit);
  chain.parameters.assign(count, w);
  return chain;
}

/// All four units of the specification's example V2, on the four stages of an asynchronous pipeline.
inline SavingChain units_of_v2() {
  SavingChain chain;
  chain.units = {unit(2, 4, 8, 2), unit(1, 2, 10, 2), unit(4, 8, 6, 2), unit(1, 2, 4, 2)};
  chain.parameters = {3, 3, 3, 3};
  chain.bandwidth = 0.5;
  return chain;
}

/// The memory and the time of a choice, written down from the formulas once more. Actions are 0 to 3: keep, swap,
/// recompute, and recompute in a segment with the unit before.
inline std::pair<std::int64_t, double> enumerated_costs(const SavingStage& stage, const std::vector<int>& actions) {
  std::int64_t memory = stage.budget.held.value();
  std::int64_t running = 0;
  std::int64_t swapped = 0;
  double compute = 0.0;
  std::int64_t freed = 0;  // by the units behind, of the microbatch whose backward runs
  std::int64_t joining =
      0;  // the stash, what of it stays, and the workspace of units that the next one before takes in
  std::int64_t shared = 0;
  std::int64_t workspace = 0;
  for (std::size_t i = actions.size(); i-- > 0;) {
    const SavingUnit& unit = stage.units[i];
    const std::int64_t a = unit.stash.value();
    const std::int64_t c = unit.checkpoint.value();
    compute += unit.forward.value() * (actions[i] >= 2 ? 2 : 1) + unit.backward.value();
    running = std::max(running, unit.workspace.value());
    if (actions[i] == 0) memory += stage.budget.in_flight * a;
    if (actions[i] == 0) freed += std::max<std::int64_t>(a - unit.shared.value(), 0);
    if (actions[i] == 1) memory += stage.budget.resident * a;
    if (actions[i] == 1) swapped += a;
    if (actions[i] < 2) continue;
    joining += a;
    shared += unit.shared.value();
    workspace = std::max(workspace, unit.workspace.value());
    if (actions[i] == 3) continue;
    memory += stage.budget.in_flight * c;
    running = std::max(running, joining - c + workspace - freed);
    freed += std::max<std::int64_t>(c - shared, 0);
    joining = shared = workspace = 0;
  }
  double copies = 0.0;
  if (swapped > 0) {
    copies = static_cast<double>(swapped + stage.budget.other_traffic.value()) / stage.budget.bandwidth;
    if (stage.budget.half_duplex) copies *= 2.0;
  }
  return {memory + running, std::max(compute, copies)};
}

/// The least time of a stage over all choices of actions, and the least memory.
struct Enumerated {
  std::optional<double> time;  ///< of those that fit
  std::int64_t least_memory = 0;
};
/// Whether no unit joins one that is not recomputed.
inline bool are_segments(const std::vector<int>& actions) {
  for (std::size_t i = 0; i < actions.size(); ++i) {
    if (actions[i] == 3 && (i == 0 || actions[i - 1] < 2)) return false;
  }
  return true;
}
inline Enumerated enumerate_savings(const SavingStage& stage) {
  const bool swaps = stage.budget.bandwidth > 0.0 && stage.budget.resident < stage.budget.in_flight;
  const int last = stage.segments ? 3 : 2;
  std::vector<int> actions(stage.units.size(), 0);
  Enumerated found;
  found.least_memory = enumerated_costs(stage, actions).first;
  while (true) {
    if ((swaps || std::ranges::count(actions, 1) == 0) && are_segments(actions)) {
      const auto [memory, time] = enumerated_costs(stage, actions);
      found.least_memory = std::min(found.least_memory, memory);
      if (memory <= stage.budget.capacity.value() && (!found.time || time < *found.time)) found.time = time;
    }
    std::size_t i = 0;
    while (i < actions.size() && actions[i] == last) actions[i++] = 0;
    if (i == actions.size()) return found;
    ++actions[i];
  }
}

/// A stage whose capacity lies between the least memory of all actions and that of keeping all.
inline SavingStage random_stage(std::mt19937_64& random, std::size_t units) {
  const auto upto = [&](std::uint64_t most) { return static_cast<std::int64_t>(random() % (most + 1)); };
  SavingStage stage;
  for (std::size_t i = 0; i < units; ++i) {
    const double forward = static_cast<double>(1 + upto(4));
    const std::int64_t stash = 1 + upto(11);
    stage.units.push_back(unit(forward, 2 * forward, stash, upto(static_cast<std::uint64_t>(stash) / 2)));
  }
  stage.budget.in_flight = 1 + upto(5);
  stage.budget.resident = std::min<std::int64_t>(stage.budget.in_flight, 2);
  stage.budget.bandwidth = static_cast<double>(upto(4)) / 4.0;
  const std::int64_t all_kept = enumerated_costs(stage, std::vector<int>(units, 0)).first;
  const std::int64_t least = enumerate_savings(stage).least_memory;
  stage.budget.capacity = Bytes(least + upto(static_cast<std::uint64_t>(all_kept - least)));
  return stage;
}

/// The same with workspaces, stashes that units before need, a half-duplex link, other traffic and a unit whose
/// checkpoint is all of its stash; it may be that nothing fits.
inline SavingStage wilder_stage(std::mt19937_64& random, std::size_t units) {
  SavingStage stage = random_stage(random, units);
  for (SavingUnit& unit : stage.units) {
    unit.workspace = Bytes(static_cast<std::int64_t>(random() % 8));
    unit.shared = Bytes(std::max<std::int64_t>(static_cast<std::int64_t>(random() % 8) - 4, 0));
  }
  stage.budget.half_duplex = random() % 2 == 0;
  stage.budget.other_traffic = Bytes(static_cast<std::int64_t>(random() % 4));
  stage.units[0].checkpoint = stage.units[0].stash;
  return stage;
}

}  // namespace stagecraft::testing
