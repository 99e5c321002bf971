#include "sim/engine/collectives.hpp"

#include <algorithm>
#include <utility>

namespace stagecraft {

std::vector<TimeInterval> covered(std::vector<TimeInterval> intervals, Seconds begin, Seconds end) {
  std::ranges::sort(intervals);
  std::vector<TimeInterval> parts;
  for (const auto& [from, to] : intervals) {
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
