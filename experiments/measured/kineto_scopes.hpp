#pragma once

#include "sim/io/kineto_trace.hpp"

#include <cstdint>
#include <vector>

namespace stagecraft {

/// Which range of a trace lies in which, on each thread. Positions are those of `KinetoTrace::scopes`, -1 is none.
struct ScopeTree {
  std::vector<std::uint32_t> order;   ///< all ranges by thread and start, the enclosing ones first
  std::vector<std::int32_t> parent;   ///< of each range, the innermost one in which it starts
  std::vector<std::int32_t> of_call;  ///< of each call, the innermost range in which it starts
};

/// A range contains what starts from its start on and before its end. Of ranges that start and end together,
/// annotations contain modules, and modules operators; those of a kind stand in the file with the outer one first.
/// **Cost** O(n log n) in ranges and calls.
[[nodiscard]] ScopeTree nest_scopes(const KinetoTrace& trace);

}  // namespace stagecraft
