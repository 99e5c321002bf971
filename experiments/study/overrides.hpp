#pragma once

#include "sim/model/detail.hpp"

#include <string_view>

namespace stagecraft {

/// Replaces one value of a file's content, or adds a key at the end of an existing record. `path` is written as in
/// error messages: `network.bandwidth`, `nodes[1].count`. Names may contain dots; the longest name that fits is taken.
/// **Throws** InputError if the path leads nowhere; its key is the part of the path that exists.
void set_value(Detail& root, std::string_view path, const Detail& value);

}  // namespace stagecraft
