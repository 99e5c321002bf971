#include "sim/engine/collectives.hpp"

#include <algorithm>
#include <span>
#include <utility>

namespace stagecraft {

void TimeIntervals::add(const TimeInterval& interval) {
  if (by_begin_.empty() || by_begin_.back() <= interval) {
    by_begin_.push_back(interval);
  } else {
    by_begin_.insert(std::upper_bound(by_begin_.begin() + forgotten_, by_begin_.end(), interval), interval);
  }
}

void TimeIntervals::forget_until(Seconds time) {
  const auto kept = std::find_if(by_begin_.begin() + forgotten_, by_begin_.end(),
                                 [&](const TimeInterval& interval) { return interval.second > time; });
  forgotten_ = kept - by_begin_.begin();
  if (2 * forgotten_ < std::ssize(by_begin_)) return;
  by_begin_.erase(by_begin_.begin(), kept);
  forgotten_ = 0;
}

std::vector<TimeInterval> TimeIntervals::covered(Seconds begin, Seconds end) const {
  std::vector<TimeInterval> parts;
  for (const auto& [from, to] : std::span(by_begin_).subspan(static_cast<std::size_t>(forgotten_))) {
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
