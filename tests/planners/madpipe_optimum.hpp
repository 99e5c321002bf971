#pragma once

#include "planners/madpipe/allocation_search.hpp"
#include "planners/shared/cuts/best_contiguous.hpp"
#include "tests/planners/pattern_cases.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace stagecraft::testing {

inline Ticks sum_of_all(const Chain& chain) {
  Ticks sum = chain.load(0, chain.size());
  for (std::size_t at = 0; at <= chain.size(); ++at) sum += chain.cut_load(at);
  return sum;
}

/// The least period over all ways to give layers to devices (equal devices: up to their names); none if nothing fits.
class ExhaustiveOptimum {
 public:
  explicit ExhaustiveOptimum(const Chain& chain) : chain_(chain), longest_(sum_of_all(chain)) {}

  std::optional<Ticks> find() {
    assign(0, 0);
    return best_;
  }

 private:
  void assign(std::size_t layer, std::uint32_t used) {
    if (layer == chain_.size()) {
      judge();
      return;
    }
    for (std::uint32_t device = 0; device < std::min(used + 1, chain_.device_count()); ++device) {
      device_of_.push_back(device);
      assign(layer + 1, std::max(used, device + 1));
      device_of_.pop_back();
    }
  }
  void judge() {
    std::vector<ChainStage> stages;
    for (std::size_t l = 0; l < device_of_.size(); ++l) {
      if (stages.empty() || stages.back().device != device_of_[l]) stages.push_back({l, l, device_of_[l]});
      stages.back().end = l + 1;
    }
    const madpipe::PatternAnswer answer = search(chain_, stages, best_ ? *best_ - 1 : longest_);
    CHECK(answer.is_proven);
    if (answer.pattern) best_ = answer.pattern->period;
  }

  const Chain& chain_;
  Ticks longest_;
  std::vector<std::uint32_t> device_of_;
  std::optional<Ticks> best_;
};

/// The period that MadPipe's two phases reach on exact states, without regard to the contiguous plan.
inline std::optional<Ticks> achieved_by_madpipe(const Chain& chain, madpipe::SpecialMemory memory) {
  madpipe::AllocationSettings settings;
  settings.exact_states = true;
  settings.special_memory = memory;
  const std::vector<madpipe::Allocation> found = madpipe::trace_search(chain, settings).found;
  if (found.empty()) return std::nullopt;
  const madpipe::PatternAnswer answer = search(chain, madpipe::merge_adjacent(found.back().stages), sum_of_all(chain));
  CHECK(answer.is_proven);
  if (!answer.pattern) return std::nullopt;
  return answer.pattern->period;
}

/// One mode of the special device's memory against the contiguous plan and the optimum.
struct ModeCounts {
  int optimal = 0;
  int better = 0;   ///< than contiguous
  int equal = 0;    ///< to contiguous
  int worse = 0;    ///< than contiguous: there the contiguous plan serves
  int nothing = 0;  ///< no plan though there is a contiguous one, which then serves
  int optimal_with_fallback = 0;
  friend bool operator==(const ModeCounts&, const ModeCounts&) = default;
};
struct OptimumCounts {
  int chains = 0;
  int infeasible = 0;  ///< even for the optimum
  int contiguous_optimal = 0;
  int contiguous_infeasible = 0;  ///< where the optimum is not
  ModeCounts optimistic;
  ModeCounts safe;
};

inline void count_mode(const std::optional<Ticks>& achieved, const std::optional<Ticks>& contiguous, Ticks optimum,
                       ModeCounts& counts) {
  if (achieved) CHECK(*achieved >= optimum);
  if (achieved == optimum) ++counts.optimal;
  if (achieved && (!contiguous || *achieved < *contiguous)) ++counts.better;
  if (achieved && contiguous && *achieved == *contiguous) ++counts.equal;
  if (achieved && contiguous && *achieved > *contiguous) ++counts.worse;
  if (!achieved && contiguous) ++counts.nothing;
  const Ticks never = kUnit * 1'000'000;
  if (std::min(achieved.value_or(never), contiguous.value_or(never)) == optimum) ++counts.optimal_with_fallback;
}

inline OptimumCounts compare_with_optimum(unsigned first, unsigned last) {
  OptimumCounts counts;
  for (unsigned seed = first; seed <= last; ++seed) {
    CAPTURE(seed);
    const Chain chain = random_instance(seed, 4).chain();
    ++counts.chains;
    const std::optional<Ticks> optimum = ExhaustiveOptimum(chain).find();
    const std::optional<ContiguousAnswer> cut = best_contiguous(chain);
    const std::optional<Ticks> contiguous = cut ? std::optional(cut->period) : std::nullopt;
    if (!optimum) {
      ++counts.infeasible;
      CHECK_FALSE(contiguous.has_value());
      continue;
    }
    if (contiguous) CHECK(*contiguous >= *optimum);
    if (contiguous == optimum) ++counts.contiguous_optimal;
    if (!contiguous) ++counts.contiguous_infeasible;
    count_mode(achieved_by_madpipe(chain, madpipe::SpecialMemory::Optimistic), contiguous, *optimum, counts.optimistic);
    count_mode(achieved_by_madpipe(chain, madpipe::SpecialMemory::Safe), contiguous, *optimum, counts.safe);
  }
  return counts;
}

}  // namespace stagecraft::testing
