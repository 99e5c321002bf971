#pragma once

#include "sim/base/quantity.hpp"

#include <cstdint>
#include <vector>

namespace stagecraft {

/// One operation of a periodic pattern: the instance of microbatch j starts at (j + shift) * period + start.
struct PatternOperation {
  bool is_cut = false;  ///< a transfer over the boundary after stage `index`, else a computation of stage `index`
  std::uint32_t index = 0;
  bool backward = false;
  Seconds start;
  std::int64_t shift = 0;
  friend bool operator==(const PatternOperation&, const PatternOperation&) = default;
};

struct Pattern {
  Seconds period;
  bool timed = true;  ///< release: timed keeps the start times too; asap only their order
  std::vector<PatternOperation> operations;
  friend bool operator==(const Pattern&, const Pattern&) = default;
};

}  // namespace stagecraft
