#include "tests/docs/mark_keys.hpp"

#include <algorithm>
#include <cstddef>

namespace stagecraft::test {

Keys keys_of(const std::string& argument) {
  Keys keys;
  for (std::size_t at = 0; at < argument.size();) {
    const std::size_t end = std::min(argument.find("; ", at), argument.size());
    const std::string part = argument.substr(at, end - at);
    const std::size_t equals = part.find('=');
    if (equals == std::string::npos) throw InputError("expected KEY=VALUE, found " + quote(part));
    keys.emplace_back(part.substr(0, equals), part.substr(equals + 1));
    at = end + 2;
  }
  return keys;
}

}  // namespace stagecraft::test
