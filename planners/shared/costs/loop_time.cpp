#include "planners/shared/costs/loop_time.hpp"

#include <algorithm>
#include <optional>
#include <vector>

namespace stagecraft {
namespace {

/// The longest ways between a stage and later ones, both included; none where no way leads.
struct LongestWays {
  std::vector<std::optional<Seconds>> there;
  std::vector<std::optional<Seconds>> back;
};

void lengthen(std::optional<Seconds>& way, const std::optional<Seconds>& rest, Seconds more) {
  if (rest && (!way || *rest + more > *way)) way = *rest + more;
}

/// `into`: the boundaries to each stage.
LongestWays longest_ways(std::span<const LoopStage> stages, std::span<const std::vector<LoopBoundary>> into,
                         std::size_t first) {
  LongestWays ways{std::vector<std::optional<Seconds>>(stages.size()),
                   std::vector<std::optional<Seconds>>(stages.size())};
  ways.there[first] = stages[first].forward;
  ways.back[first] = stages[first].backward;
  for (std::size_t last = first + 1; last < stages.size(); ++last) {
    for (const LoopBoundary& boundary : into[last]) {
      lengthen(ways.there[last], ways.there[boundary.from], boundary.time + stages[last].forward);
      lengthen(ways.back[last], ways.back[boundary.from], boundary.time + stages[last].backward);
    }
  }
  return ways;
}

}  // namespace

Seconds loop_time(std::span<const LoopStage> stages, std::span<const LoopBoundary> boundaries) {
  std::vector<std::vector<LoopBoundary>> into(stages.size());
  for (const LoopBoundary& boundary : boundaries) into[boundary.to].push_back(boundary);
  Seconds longest{0};
  for (std::size_t first = 0; first < stages.size(); ++first) {
    longest = std::max(longest, stages[first].forward + stages[first].backward);
    const LongestWays ways = longest_ways(stages, into, first);
    for (std::size_t last = first + 1; last < stages.size(); ++last) {
      if (stages[last - 1].in_flight <= stages[last].in_flight) break;
      if (!ways.there[last]) continue;
      const std::int64_t steps = stages[first].in_flight - stages[last].in_flight + 1;
      longest = std::max(longest, (*ways.there[last] + *ways.back[last]) / static_cast<double>(steps));
    }
  }
  return longest;
}

}  // namespace stagecraft
