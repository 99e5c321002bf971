#include "planners/vpipe/neighbour_moves.hpp"

#include <algorithm>
#include <utility>

namespace stagecraft::vpipe {
namespace {

/// Cuts, and by what they are compared.
struct RatedCuts {
  std::vector<std::size_t> cuts;
  std::vector<StageCost> costs;  ///< by stage
  Bytes overflow;
  std::vector<Seconds> times;  ///< the largest first
  Bytes migration;

  [[nodiscard]] bool is_better_than(const RatedCuts& other) const {
    if (overflow != other.overflow) return overflow < other.overflow;
    if (times != other.times) return times < other.times;
    return migration < other.migration;
  }
};

class UnitMoves {
 public:
  UnitMoves(const CostOfStage& cost, const std::optional<RunningPlan>& running, std::size_t units)
      : cost_(cost), running_(running), locked_(units) {
    if (!running) return;
    for (std::size_t stage = 0; stage + 1 < running->cuts.size(); ++stage) {
      home_.resize(running->cuts[stage + 1], stage);
    }
  }

  [[nodiscard]] RatedCuts rated(std::vector<std::size_t> cuts) const {
    RatedCuts rated{std::move(cuts), {}, Bytes(0), {}, Bytes(0)};
    for (std::size_t stage = 0; stage + 1 < rated.cuts.size(); ++stage) {
      rated.costs.push_back(cost_(stage, rated.cuts[stage], rated.cuts[stage + 1]));
      for (std::size_t unit = rated.cuts[stage]; unit < rated.cuts[stage + 1]; ++unit) {
        rated.migration += moved_bytes(unit, stage);
      }
    }
    sum_up(rated);
    return rated;
  }

  /// The cuts from which no pass finds better ones. Adds to the number of passes.
  [[nodiscard]] RatedCuts improved(RatedCuts best, std::int64_t& passes) {
    while (true) {
      ++passes;
      RatedCuts met = pass(best);
      if (!met.is_better_than(best)) return best;
      best = std::move(met);
    }
  }

 private:
  /// The best cuts that a pass from `start` meets.
  [[nodiscard]] RatedCuts pass(const RatedCuts& start) {
    std::ranges::fill(locked_, 0);
    RatedCuts best = start;
    RatedCuts present = start;
    while (std::optional<std::pair<RatedCuts, std::size_t>> move = best_move(present)) {
      present = std::move(move->first);
      locked_[move->second] = 1;
      if (present.is_better_than(best)) best = present;
    }
    return best;
  }

  [[nodiscard]] Bytes moved_bytes(std::size_t unit, std::size_t stage) const {
    return running_ && home_[unit] != stage ? running_->bytes[unit] : Bytes(0);
  }

  static void sum_up(RatedCuts& rated) {
    rated.overflow = Bytes(0);
    rated.times.clear();
    for (const StageCost& cost : rated.costs) {
      rated.overflow += cost.overflow;
      rated.times.push_back(cost.time);
    }
    std::ranges::sort(rated.times, std::greater<>());
  }

  /// The cuts with the boundary behind `stage` at `cut`, one unit away from where it is.
  void move(const RatedCuts& from, std::size_t stage, std::size_t cut, RatedCuts& to) const {
    to = from;
    const bool to_later = cut < from.cuts[stage + 1];
    const std::size_t unit = to_later ? cut : cut - 1;
    to.cuts[stage + 1] = cut;
    to.costs[stage] = cost_(stage, to.cuts[stage], cut);
    to.costs[stage + 1] = cost_(stage + 1, cut, to.cuts[stage + 2]);
    to.migration += moved_bytes(unit, to_later ? stage + 1 : stage) - moved_bytes(unit, to_later ? stage : stage + 1);
    sum_up(to);
  }

  /// The best move of a unit that is not locked, with the unit; none if no stage can give one away.
  [[nodiscard]] std::optional<std::pair<RatedCuts, std::size_t>> best_move(const RatedCuts& from) const {
    std::optional<std::pair<RatedCuts, std::size_t>> best;
    RatedCuts moved;
    const auto offer = [&](std::size_t stage, std::size_t cut, std::size_t unit) {
      if (locked_[unit] != 0) return;
      move(from, stage, cut, moved);
      if (!best || moved.is_better_than(best->first)) best = {moved, unit};
    };
    for (std::size_t stage = 0; stage + 2 < from.cuts.size(); ++stage) {
      const std::size_t cut = from.cuts[stage + 1];
      if (cut - 1 > from.cuts[stage]) offer(stage, cut - 1, cut - 1);
      if (cut + 1 < from.cuts[stage + 2]) offer(stage, cut + 1, cut);
    }
    return best;
  }

  const CostOfStage& cost_;
  const std::optional<RunningPlan>& running_;
  std::vector<char> locked_;
  std::vector<std::size_t> home_;  ///< by unit: its stage in the running plan
};

}  // namespace

MovedUnits move_units(std::vector<std::size_t> cuts, const CostOfStage& cost,
                      const std::optional<RunningPlan>& running) {
  return move_units_from({std::move(cuts)}, cost, running);
}

MovedUnits move_units_from(std::vector<std::vector<std::size_t>> starts, const CostOfStage& cost,
                           const std::optional<RunningPlan>& running) {
  UnitMoves moves(cost, running, starts.front().back());
  std::optional<RatedCuts> best;
  std::int64_t passes = 0;
  for (std::vector<std::size_t>& start : starts) {
    RatedCuts found = moves.improved(moves.rated(std::move(start)), passes);
    if (!best || found.is_better_than(*best)) best = std::move(found);
  }
  return {std::move(best->cuts), passes};
}

}  // namespace stagecraft::vpipe
