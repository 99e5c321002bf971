#pragma once

#include "experiments/commands/command_tree.hpp"

#include <string>

namespace stagecraft {

/// Scripts that make a shell complete verbs, options and known values. Where no values are known they offer files.
[[nodiscard]] std::string bash_completion(const CommandTree& tree);
[[nodiscard]] std::string zsh_completion(const CommandTree& tree);
[[nodiscard]] std::string fish_completion(const CommandTree& tree);

}  // namespace stagecraft
