#pragma once

#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace stagecraft {

/// An option or a positional argument, as the command line's parser knows it.
struct ArgumentInfo {
  std::vector<std::string> names;  ///< with their dashes, longest first; of a positional one its name
  std::string description;
  std::string default_value;  ///< empty: none is shown
  bool positional = false;
  bool takes_value = false;
  bool required = false;
  std::vector<std::string> values;  ///< words that may stand for the value; empty: anything, such as a file
};

/// A verb with what it takes, the common options included.
struct VerbInfo {
  std::string name;
  std::string summary;
  std::vector<ArgumentInfo> arguments;
};

/// The whole command line: what completion scripts and the man page are made of.
struct CommandTree {
  std::string program;
  std::string summary;
  std::vector<ArgumentInfo> arguments;  ///< before a verb
  std::vector<VerbInfo> verbs;
};

/// Walks the parser that `command` is a part of.
[[nodiscard]] CommandTree command_tree(const CLI::App& command);

}  // namespace stagecraft
