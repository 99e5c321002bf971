#pragma once

#include "sim/base/error.hpp"
#include "sim/base/text.hpp"

#include <string>
#include <utility>
#include <vector>

namespace stagecraft::test {

using Keys = std::vector<std::pair<std::string, std::string>>;

/// `KEY=VALUE; …` of a mark. **Throws** InputError for a part without `=`.
[[nodiscard]] Keys keys_of(const std::string& argument);

template <class T>
T required(const std::string& name, const Parsed<T>& parsed) {
  if (!parsed) throw InputError(name + ": " + parsed.problem);
  return *parsed.value;
}

}  // namespace stagecraft::test
