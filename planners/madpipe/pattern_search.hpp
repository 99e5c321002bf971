#pragma once

#include "planners/shared/costs/chain.hpp"
#include "sim/base/ticks.hpp"
#include "sim/schedule/periodic.hpp"

#include <cstdint>
#include <optional>
#include <span>

namespace stagecraft::madpipe {

struct PatternSearch {
  Ticks longest = 0;            ///< longer periods are not wanted
  std::int64_t node_limit = 0;  ///< of the integer program; 0: only constructed patterns, no integer program
  bool shortcuts = true;        ///< whether to try 1F1B* and constructed patterns before the integer program
};

struct PatternAnswer {
  std::optional<TickPattern> pattern;  ///< none if none was found with a period of at most `longest`
  std::int64_t nodes = 0;              ///< of the integer program
  bool is_proven = true;               ///< whether it is proved that no pattern is better
};

/// The periodic pattern of least period for given stages, which may share devices (MadPipe's phase 2).
///
/// The least period of an order (see PatternProblem) is exact, in whole ticks. The integer program chooses between
/// orders in floating point, so it may miss an order that is better by less than 1e-6 of the period. Its answer is used
/// only if the order satisfies memory and precedences exactly. If every device has one stage, 1F1B* is the answer and
/// no program is solved.
/// **Requires** stages that cover the chain in order. **Cost** exponential in the number of stages that share devices,
/// bounded by the limit. **Source** MadPipe, section on the integer program. The paper tests one period after the
/// other; here the frequency 1/T is a variable in which the program is linear, so one program finds the least period.
[[nodiscard]] PatternAnswer least_pattern(const Chain& chain, std::span<const ChainStage> stages,
                                          const PatternSearch& search);

}  // namespace stagecraft::madpipe
