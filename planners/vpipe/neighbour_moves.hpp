#pragma once

#include "sim/base/quantity.hpp"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

namespace stagecraft::vpipe {

/// How good a stage is with certain units.
struct StageCost {
  Bytes overflow;  ///< the memory that it lacks; 0 if it has a plan
  Seconds time;    ///< of a microbatch
};
/// The cost of a stage that has the units [begin, end).
using CostOfStage = std::function<StageCost(std::size_t stage, std::size_t begin, std::size_t end)>;

/// A plan that runs, and what it takes to move each of its units to another stage.
struct RunningPlan {
  std::vector<std::size_t> cuts;
  std::vector<Bytes> bytes;
};

struct MovedUnits {
  /// The first unit of every stage, and the number of units.
  std::vector<std::size_t> cuts;
  std::int64_t passes = 0;
};

/// Improves the cuts of a chain of units by moves of one unit over one boundary, as Kernighan and Lin do. A pass makes
/// the best move again and again, even if it makes the cuts worse, and never moves a unit twice; then it goes back to
/// the best cuts that it has met. Passes end when one finds no better cuts. Of two cuts the one is better whose stages
/// lack less memory in all; then the one whose largest time of a stage is smaller, then the second largest, and so on;
/// then the one that has to move fewer bytes from the running plan, if there is one. Of equal moves the one over the
/// earlier boundary is made, and of two over one boundary the one to the later stage.
/// **Requires** at least one unit in each stage. **Cost** of a pass O(units · stages² · log stages) and O(units ·
/// stages) calls of `cost`, most of which repeat earlier ones.
/// **Source** vPipe (Zhao et al. 2022) moves units between neighbours in the manner of Kernighan and Lin; the rules are
/// our reconstruction.
[[nodiscard]] MovedUnits move_units(std::vector<std::size_t> cuts, const CostOfStage& cost,
                                    const std::optional<RunningPlan>& running = std::nullopt);
/// The same from each of the cuts, of which there is one at least; of what they lead to the best, of equals the first.
[[nodiscard]] MovedUnits move_units_from(std::vector<std::vector<std::size_t>> starts, const CostOfStage& cost,
                                         const std::optional<RunningPlan>& running);

}  // namespace stagecraft::vpipe
