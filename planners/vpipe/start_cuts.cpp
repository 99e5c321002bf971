#include "planners/vpipe/start_cuts.hpp"

#include <algorithm>
#include <cstdint>
#include <utility>

namespace stagecraft::vpipe {
namespace {

using Times = std::vector<Ticks>;  // the largest first

void with(const Times& times, Ticks added, Times& result) {
  result = times;
  result.insert(std::ranges::upper_bound(result, added, std::greater<>()), added);
}

/// The best cuts of each prefix into `stage + 1` stages, from those into `stage`: their times, and the last cuts.
class StartRow {
 public:
  StartRow(std::size_t units, std::size_t stage) : times_(units + 1), cuts_(units + 1), stage_(stage) {}

  void fill(const StartRow& before, std::size_t end, const TimeOfStage& time) {
    Times& best = times_[end];
    for (std::size_t begin = end; begin-- > stage_;) {
      if (before.times_[begin].empty()) continue;
      const Ticks last = time(stage_, begin, end);
      if (last == kNoStage || (!best.empty() && last > best.front())) return;
      if (!best.empty() && before.times_[begin].front() > best.front()) continue;
      with(before.times_[begin], last, offered_);
      if (!best.empty() && offered_ > best) continue;
      best = offered_;
      cuts_[end] = static_cast<std::uint32_t>(begin);
    }
  }

  void begin_with(std::size_t end, Times times) { times_[end] = std::move(times); }
  [[nodiscard]] bool has(std::size_t end) const { return !times_[end].empty(); }
  [[nodiscard]] const std::vector<std::uint32_t>& cuts() const { return cuts_; }

 private:
  std::vector<Times> times_;  // empty: there are no such stages
  std::vector<std::uint32_t> cuts_;
  std::size_t stage_;
  Times offered_;
};

}  // namespace

std::vector<std::size_t> least_sorted_cuts(std::size_t units, std::size_t stages, const TimeOfStage& time) {
  StartRow row(units, 0);
  for (std::size_t end = 1; end <= units; ++end) {
    const Ticks first = time(0, 0, end);
    if (first == kNoStage) break;
    row.begin_with(end, {first});
  }
  std::vector<std::vector<std::uint32_t>> last_cuts{row.cuts()};
  for (std::size_t stage = 1; stage < stages; ++stage) {
    StartRow next(units, stage);
    for (std::size_t end = stage + 1; end <= units; ++end) next.fill(row, end, time);
    last_cuts.push_back(next.cuts());
    row = std::move(next);
  }
  if (!row.has(units)) return {};
  std::vector<std::size_t> cuts(stages + 1, 0);
  cuts[stages] = units;
  for (std::size_t stage = stages; stage-- > 1;) cuts[stage] = last_cuts[stage][cuts[stage + 1]];
  return cuts;
}

}  // namespace stagecraft::vpipe
