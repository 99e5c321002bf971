#pragma once

#include "experiments/commands/command_tree.hpp"

#include <string>

namespace stagecraft {

/// The manual page of the program, for `man`.
[[nodiscard]] std::string man_page(const CommandTree& tree, const std::string& version);

}  // namespace stagecraft
