#pragma once

#include <cstdint>
#include <vector>

namespace stagecraft {

/// Limits on microbatches in flight that are tried: so many evenly spaced ones, increasing, of which the last is
/// `most`; all numbers if there are no more. **Requires** most of at least 1.
[[nodiscard]] std::vector<std::int64_t> even_limits(std::int64_t most, std::int64_t count);

}  // namespace stagecraft
