#pragma once

#include <cstdlib>

namespace stagecraft::testing {

/// Whether the environment variable STAGECRAFT_ALL_CASES is set, as `./check --full` does in the build for users.
[[nodiscard]] inline bool draws_all() {
  static const bool kAll = std::getenv("STAGECRAFT_ALL_CASES") != nullptr;  // NOLINT(concurrency-mt-unsafe): one thread
  return kAll;
}

/// How many of `all` random cases a long test draws: all, or else a tenth, since what they look for mostly shows in
/// few.
template <class Integer>
[[nodiscard]] Integer random_cases(Integer all) {
  return draws_all() ? all : (all + 9) / 10;
}

}  // namespace stagecraft::testing
