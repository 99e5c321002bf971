#include "planners/madpipe/allocation.hpp"

#include "planners/madpipe/recurrence.hpp"
#include "sim/base/error.hpp"

#include <algorithm>
#include <cstddef>
#include <map>
#include <utility>
#include <variant>

namespace stagecraft::madpipe {
namespace {

using Packed = Recursion<GridAxis, PackedKeys>;
using Wide = Recursion<GridAxis, WideKeys>;
using Exact = Recursion<ExactAxis, WideKeys>;
using AnyRecursion = std::variant<Packed, Wide, Exact>;

/// The grid with as many points per axis as the settings say. The axes extend beyond their range, because a sum may be
/// rounded up by a step for each stage, and a delay may also contain waiting times, each shorter than the load that
/// waits.
Lattice<GridAxis> grid_of(const StageCosts& costs, const std::array<int, 3>& points) {
  const auto step_count = [&](std::size_t axis) {
    STAGECRAFT_CHECK(points[axis] >= 2, "a grid has at least two points");
    return static_cast<std::size_t>(points[axis]) - 1;
  };
  const std::size_t layers = costs.layers();
  return {GridAxis(costs.most_load(), points[0], step_count(0) + layers + 2),
          GridAxis(costs.capacity(), points[1], step_count(1) + 2),
          GridAxis(costs.most_load() + costs.total_cuts(), points[2], 2 * step_count(2) + layers + 2)};
}

AnyRecursion recursion_of(const Chain& chain, const AllocationSettings& settings) {
  const StageCosts costs(chain, settings);
  if (settings.exact_states) return AnyRecursion(std::in_place_type<Exact>, costs, Lattice<ExactAxis>{}, WideKeys{});
  const Lattice<GridAxis> grid = grid_of(costs, settings.grid);
  const std::array<std::uint64_t, 5> extents{costs.layers() + std::uint64_t{1}, chain.device_count(),
                                             grid.load.extent(), grid.memory.extent(), grid.delay.extent()};
  if (!PackedKeys::can_hold(extents)) return AnyRecursion(std::in_place_type<Wide>, costs, grid, WideKeys{});
  return AnyRecursion(std::in_place_type<Packed>, costs, grid, PackedKeys(extents));
}

/// Reverses the stages, which the recurrence gives last stage first, and numbers devices by first appearance.
void put_in_chain_order(Allocation& allocation) {
  std::ranges::reverse(allocation.stages);
  std::ranges::reverse(allocation.in_flight);
  std::map<std::uint32_t, std::uint32_t> numbers;
  for (ChainStage& stage : allocation.stages) {
    stage.device = numbers.try_emplace(stage.device, static_cast<std::uint32_t>(numbers.size())).first->second;
  }
  if (allocation.special_device) allocation.special_device = numbers.at(*allocation.special_device);
}

}  // namespace

class AllocationSolver::Recurrence {
 public:
  Recurrence(const Chain& chain, const AllocationSettings& settings) : recursion_(recursion_of(chain, settings)) {}

  std::optional<Allocation> solve(Ticks target, Ticks below) {
    return std::visit([&](auto& recursion) { return recursion.solve(target, below); }, recursion_);
  }
  [[nodiscard]] std::size_t state_count() const {
    return std::visit([](const auto& recursion) { return recursion.state_count(); }, recursion_);
  }

 private:
  AnyRecursion recursion_;
};

AllocationSolver::AllocationSolver(const Chain& chain, const AllocationSettings& settings)
    : recurrence_(std::make_unique<Recurrence>(chain, settings)) {}

AllocationSolver::~AllocationSolver() = default;

std::optional<Allocation> AllocationSolver::solve(Ticks target, Ticks below) {
  STAGECRAFT_CHECK(target > 0, "a period is positive");
  if (target >= below) return std::nullopt;
  std::optional<Allocation> found = recurrence_->solve(target, below);
  if (found) put_in_chain_order(*found);
  return found;
}

std::size_t AllocationSolver::state_count() const { return recurrence_->state_count(); }

std::vector<ChainStage> merge_adjacent(std::span<const ChainStage> stages) {
  std::vector<ChainStage> merged;
  for (const ChainStage& stage : stages) {
    if (!merged.empty() && merged.back().device == stage.device) {
      merged.back().end = stage.end;
    } else {
      merged.push_back(stage);
    }
  }
  return merged;
}

}  // namespace stagecraft::madpipe
