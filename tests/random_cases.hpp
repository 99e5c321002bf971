#pragma once

#include <cstdlib>

namespace stagecraft::testing {

/// How many of `all` random cases a long test draws: a tenth, since what they look for mostly shows in few cases, or
/// all if the environment variable STAGECRAFT_ALL_CASES is set, as `./check --full` does in the build for users.
template <class Integer>
[[nodiscard]] Integer random_cases(Integer all) {
  static const bool kAll = std::getenv("STAGECRAFT_ALL_CASES") != nullptr;  // NOLINT(concurrency-mt-unsafe): one thread
  return kAll ? all : (all + 9) / 10;
}

}  // namespace stagecraft::testing
