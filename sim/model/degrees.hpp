#pragma once

#include <cstdint>

namespace stagecraft {

/// The most devices of a group.
inline constexpr std::int64_t kMostInGroup = 256;

/// Into how many devices a worker of a stage is divided, and how.
struct Degrees {
  std::int64_t tensor = 1;  ///< devices that divide each layer's weights among themselves
  /// Sequence parallelism: what these do not divide by weights (norms, sums, dropout) they divide by tokens.
  bool sequence = true;
  /// A member has a whole multiple of so many rows of the table of words; the rows are padded.
  std::int64_t vocabulary_multiple = 1;

  [[nodiscard]] std::int64_t devices() const { return tensor; }
  friend bool operator==(const Degrees&, const Degrees&) = default;
};

}  // namespace stagecraft
