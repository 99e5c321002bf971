#pragma once

#include <map>
#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace stagecraft {

/// An option or a positional argument, as the command line's parser knows it.
struct ArgumentInfo {
  std::vector<std::string> names;  ///< with their dashes, long names first; for a positional argument its name
  std::string description;
  std::string default_value;  ///< empty: none is shown
  bool positional = false;
  bool takes_value = false;
  bool required = false;
  bool repeated = false;            ///< may be given several times, with one value each
  std::vector<std::string> values;  ///< the known values; empty: anything, such as a file
  bool takes_list = false;          ///< several items with commas between; the first is one of `values`
  /// The known later items by the last one without `=`; empty: `values`.
  std::map<std::string, std::vector<std::string>> later;
};

/// A verb with its arguments, the common options included.
struct VerbInfo {
  std::string name;
  std::string summary;
  std::vector<ArgumentInfo> arguments;
};

/// The whole command line. Completion scripts and the man page are made from it.
struct CommandTree {
  std::string program;
  std::string summary;
  std::vector<ArgumentInfo> arguments;  ///< before a verb
  std::vector<VerbInfo> verbs;
};

/// The tree of the whole parser to which `command` belongs.
[[nodiscard]] CommandTree command_tree(const CLI::App& command);

}  // namespace stagecraft
