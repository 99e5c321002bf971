#pragma once

#include "experiments/run/settings.hpp"
#include "sim/base/error.hpp"

#include <functional>
#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace stagecraft {

/// The result of a verb, as text for people and as JSON for programs. The program prints one of the two.
struct Answer {
  std::string text;  ///< with a final newline
  std::string json;  ///< one JSON document, without a final newline
  ExitCode code = ExitCode::Done;
};

using VerbAction = std::function<Answer(const Settings&)>;

/// A command of the program ("verb" in the sources, "command" in its messages): a function described by a value.
struct Verb {
  std::string name;
  std::string summary;
  /// Adds the verb's options to `command`. The action it returns runs once they are parsed, reads them, and throws
  /// InputError for those that make no sense.
  VerbAction (*configure)(CLI::App& command) = nullptr;
  /// One to three command lines for its help. Together, in the order of the verbs, they can be typed in one folder.
  std::vector<std::string> examples{};
  bool only_serves = false;  ///< runs other commands, and shows no progress of its own
};

}  // namespace stagecraft
