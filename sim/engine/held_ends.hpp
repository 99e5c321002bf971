#pragma once

#include "sim/engine/clock.hpp"

#include <cstdint>
#include <optional>
#include <unordered_map>

namespace stagecraft {

/// The operations whose end waits for that of another one, which may start after them.
class HeldEnds {
 public:
  /// `op` ends when its own time is over and `last` has ended. **Requires** one such `op` for each `last`.
  void add(std::uint64_t op, std::uint64_t last);
  /// The operation's own time is over. Returns whether its end is held up; then `release` gives it later.
  [[nodiscard]] bool hold(Start over);
  /// `last` has ended. Returns the operation that may end now, if its own time is over.
  [[nodiscard]] std::optional<Start> release(std::uint64_t last) {
    return op_of_.empty() ? std::nullopt : release_held(last);
  }

 private:
  [[nodiscard]] std::optional<Start> release_held(std::uint64_t last);

  std::unordered_map<std::uint64_t, std::uint64_t> op_of_;        ///< by what holds it up
  std::unordered_map<std::uint64_t, std::optional<Start>> over_;  ///< by operation held up: once its time is over
};

}  // namespace stagecraft
