#pragma once

namespace stagecraft::testing {

/// Under sanitizers a case takes about ten times as long, and what they look for shows in few cases. The whole number
/// is drawn in the builds without them (`./check --full`).
#if defined(__SANITIZE_ADDRESS__)
constexpr int kSanitizedShare = 10;
#else
constexpr int kSanitizedShare = 1;
#endif

/// How many of `all` random cases a long test draws.
template <class Integer>
[[nodiscard]] constexpr Integer random_cases(Integer all) {
  return (all + kSanitizedShare - 1) / kSanitizedShare;
}

}  // namespace stagecraft::testing
