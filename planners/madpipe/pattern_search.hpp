#pragma once

#include "planners/shared/chain.hpp"
#include "sim/base/ticks.hpp"
#include "sim/schedule/periodic.hpp"

#include <cstdint>
#include <optional>
#include <span>

namespace stagecraft::madpipe {

struct PatternSearch {
  Ticks longest = 0;            ///< periods above are of no use
  std::int64_t node_limit = 0;  ///< of the integer program; 0: only what is built by hand
  bool shortcuts = true;        ///< whether 1F1B* and constructions by hand are tried before the program
};

struct PatternAnswer {
  std::optional<TickPattern> pattern;  ///< none: none was found with a period of at most `longest`
  std::int64_t nodes = 0;              ///< of the integer program
  bool is_proven = true;               ///< that no pattern is better; false if the limit struck or the solver failed
};

/// The periodic pattern of least period for given stages, which may share devices (MadPipe's phase 2).
///
/// For an order (see PatternProblem) the least period is exact, in whole ticks. Between orders the integer program
/// decides, in floating point: it may miss an order that is better by less than 1e-6 of the period. What it answers is
/// taken only if its order keeps memory and precedences exactly.
/// Where every device has one stage, 1F1B* is the answer, and no program is solved.
/// **Requires** stages that cover the chain in order. **Cost** exponential in the stages that share devices, bounded by
/// the limit. **Source** MadPipe, section on the integer program; with the frequency 1/T as a variable, which makes the
/// program linear in it, one program finds the least period where the paper's tests periods one by one.
[[nodiscard]] PatternAnswer least_pattern(const Chain& chain, std::span<const ChainStage> stages,
                                          const PatternSearch& search);

}  // namespace stagecraft::madpipe
