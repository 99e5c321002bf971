#pragma once

#include <cstdint>

namespace stagecraft {

/// The microbatches that a memory action covers: of every `of` that a replica runs one after the other, the `first`
/// ones behind `from` others. They are counted in each iteration anew, or over a whole asynchronous run.
struct Covered {
  std::int64_t first = 1;
  std::int64_t of = 1;
  std::int64_t from = 0;
  friend bool operator==(const Covered&, const Covered&) = default;

  [[nodiscard]] bool all() const { return first == of; }
  /// `local`: the microbatch's number among those of its replica, from 0.
  [[nodiscard]] bool has(std::int64_t local) const { return local % of >= from && local % of < from + first; }
};

}  // namespace stagecraft
