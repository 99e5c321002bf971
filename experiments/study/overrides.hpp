#pragma once

#include "sim/model/detail.hpp"

#include <string_view>

namespace stagecraft {

/// Replaces one value of a file's content, or adds a key at the end of an existing record. `path` leads there as error
/// messages show places: `network.bandwidth`, `nodes[1].count`. Names may themselves contain dots; the longest that
/// fits is taken.
/// **Throws** InputError, its key the part of the path that is there, where the path leads nowhere.
void set_value(Detail& root, std::string_view path, const Detail& value);

}  // namespace stagecraft
