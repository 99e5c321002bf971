#include "sim/engine/collectives.hpp"

#include <algorithm>
#include <utility>

namespace stagecraft {

void TimeIntervals::add(const TimeInterval& interval) {
  if (by_begin_.empty() || by_begin_.back() <= interval) {
    by_begin_.push_back(interval);
  } else {
    by_begin_.insert(std::ranges::upper_bound(by_begin_, interval), interval);
  }
}

void TimeIntervals::forget_until(Seconds time) {
  while (!by_begin_.empty() && by_begin_.front().second <= time) by_begin_.pop_front();
}

std::vector<TimeInterval> TimeIntervals::covered(Seconds begin, Seconds end) const {
  std::vector<TimeInterval> parts;
  for (const auto& [from, to] : by_begin_) {
    if (from >= end) break;
    const Seconds a = std::max(from, begin);
    const Seconds b = std::min(to, end);
    if (b <= a) continue;
    parts.emplace_back(a, b);
    begin = b;
  }
  return parts;
}

void CollectivesUnderWay::begin(const Op& mark, const Span& span) {
  Collective& collective = of(mark);
  collective.begin = std::min(collective.begin, span.start);
  collective.latencies.emplace_back(span.start, span.end);
}

Collective CollectivesUnderWay::end(const Op& mark) {
  Collective ended = std::move(of(mark));
  under_way_.erase({mark.stage, mark.chunk});
  std::ranges::sort(ended.members);
  const auto [rest, last] = std::ranges::unique(ended.members);
  ended.members.erase(rest, last);
  return ended;
}

}  // namespace stagecraft
