#pragma once

#include "planners/madpipe/allocation.hpp"
#include "tests/planners/memory_chains.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <tuple>
#include <vector>

namespace stagecraft::testing {

/// MadPipe's recurrence as it is written down, for comparison: a map over all states reached, no limits, no pruning.
/// Layers 1..L. A point of a grid is a number i that stands for i * range / steps; sums with it are formed in units of
/// 1 / steps. On exact states every range equals its number of steps.
class NaiveRecurrence {
 public:
  static constexpr Ticks kInfinite = madpipe::kUnlimited;

  NaiveRecurrence(const Chain& chain, const madpipe::AllocationSettings& settings, Ticks target)
      : chain_(chain), target_(target), safe_(settings.special_memory == madpipe::SpecialMemory::Safe) {
    if (settings.exact_states) return;
    Ticks cuts = 0;
    for (std::size_t at = 0; at <= chain.size(); ++at) cuts += chain.cut_load(at);
    load_ = {chain.load(0, chain.size()), settings.grid[0] - 1};
    memory_ = {chain.capacity().value(), settings.grid[1] - 1};
    delay_ = {chain.load(0, chain.size()) + cuts, settings.grid[2] - 1};
  }

  Ticks value() { return value({chain_.size(), chain_.device_count() - 1, 0, 0, 0}).least; }

  /// (begin, end, special) in chain order.
  std::vector<std::tuple<std::size_t, std::size_t, bool>> plan() {
    std::vector<std::tuple<std::size_t, std::size_t, bool>> stages;
    State state{chain_.size(), chain_.device_count() - 1, 0, 0, 0};
    while (std::get<0>(state) > 0) {
      const Answer answer = value(state);
      stages.emplace_back(answer.k - 1, std::get<0>(state), answer.special);
      state = answer.rest;
    }
    std::ranges::reverse(stages);
    return stages;
  }

 private:
  using State = std::tuple<std::size_t, std::size_t, std::int64_t, std::int64_t, std::int64_t>;
  struct Answer {
    Ticks least = kInfinite;
    std::size_t k = 0;
    bool special = false;
    State rest;
  };
  struct Axis {
    std::int64_t range = 1;
    std::int64_t steps = 1;
    [[nodiscard]] std::int64_t up(std::int64_t scaled) const { return range == 0 ? 0 : (scaled + range - 1) / range; }
  };
  static std::int64_t ceil_div(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

  /// V (+) u, with V and u in units of 1 / steps.
  [[nodiscard]] std::int64_t stack(std::int64_t V, std::int64_t u) const {
    const std::int64_t T = target_ * delay_.steps;
    return ceil_div(V, T) == ceil_div(V + u, T) ? V + u : ceil_div(V, T) * T + u;
  }

  Answer value(const State& state) {
    const auto [l, p, t, m, V] = state;
    if (l == 0) return {0, 0, false, {}};
    if (const auto known = known_.find(state); known != known_.end()) return known->second;
    Answer best;
    for (std::size_t k = l; k >= 1; --k) {
      const Ticks U = chain_.load(k - 1, l);
      if (k > 1 && chain_.transfer(k - 1) >= kLongestTransfer) continue;
      const Ticks C = chain_.cut_load(k - 1);
      const std::int64_t v = stack(V * delay_.range, U * delay_.steps);
      const std::int64_t g = std::max<std::int64_t>(1, ceil_div(v, target_ * delay_.steps));
      const std::int64_t behind = delay_.up(k > 1 ? stack(v, C * delay_.steps) : v);
      const std::int64_t full = stage_memory(chain_, k - 1, l, g).value();
      if (p > 0 && full <= chain_.capacity().value()) {
        const State rest{k - 1, p - 1, t, m, behind};
        offer(best, {std::max({U, C, value(rest).least}), k, false, rest});
      }
      if (m * memory_.range + full * memory_.steps <= chain_.capacity().value() * memory_.steps) {
        const std::int64_t charged = stage_memory(chain_, k - 1, l, safe_ ? g : g - 1).value();
        const State rest{k - 1, p, load_.up(t * load_.range + U * load_.steps),
                         memory_.up(m * memory_.range + charged * memory_.steps), behind};
        offer(best, {std::max({ceil_div(t * load_.range, load_.steps) + U, C, value(rest).least}), k, true, rest});
      }
    }
    known_[state] = best;
    return best;
  }

  static void offer(Answer& best, const Answer& choice) {
    if (choice.least < best.least) best = choice;
  }

  const Chain& chain_;
  Ticks target_;
  bool safe_;
  Axis load_, memory_, delay_;
  std::map<State, Answer> known_;
};

}  // namespace stagecraft::testing
