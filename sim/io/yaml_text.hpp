#pragma once

#include "sim/model/detail.hpp"

#include <string>

namespace stagecraft {

/// A record as a YAML document that `parse_yaml` and `read_detail` read back to the same value: the root's keys one a
/// line, a list of lists or records one item a line, everything below in flow style.
/// **Requires** finite numbers.
[[nodiscard]] std::string to_yaml(const Detail::Record& root);

}  // namespace stagecraft
