#include "planners/madpipe/allocation_search.hpp"

#include <algorithm>
#include <utility>

namespace stagecraft::madpipe {
namespace {

Ticks all_one_after_another(const Chain& chain) {
  Ticks sum = chain.most_load();
  for (std::size_t at = 0; at <= chain.size(); ++at) sum += chain.cut_load(at);
  return sum;
}

/// Calls the recurrence for one target, and returns whether it found a better allocation.
bool try_target(AllocationSolver& solver, Ticks target, AllocationSearch& search) {
  std::optional<Allocation> found =
      solver.solve(target, search.found.empty() ? kUnlimited : search.found.back().period());
  search.steps.push_back({target, found ? std::optional(found->bottleneck) : std::nullopt});
  search.most_states = std::max(search.most_states, solver.state_count());
  if (!found) return false;
  search.found.push_back(std::move(*found));
  return true;
}

}  // namespace

AllocationSearch trace_search(const Chain& chain, const AllocationSettings& settings) {
  AllocationSolver solver(chain, settings);
  AllocationSearch search;
  Ticks lower = chain.load(0, chain.size()) / chain.device_count();
  Ticks upper = all_one_after_another(chain);
  Ticks target = lower;
  for (int i = 0; i < settings.iterations; ++i) {
    target = std::max<Ticks>(1, target);
    // If nothing better was found, the bottleneck is at least the best period, which is at least T^, since T^ never
    // exceeds the upper end. Then min(T^, D) = T^ is the new lower end.
    const bool is_better = try_target(solver, target, search);
    lower = std::max(lower, is_better ? std::min(search.found.back().bottleneck, target) : target);
    if (is_better) upper = std::min(upper, search.found.back().period());
    target = lower + (upper - lower) / 2;
  }
  if (search.found.empty()) try_target(solver, std::max<Ticks>(1, upper), search);
  return search;
}

}  // namespace stagecraft::madpipe
