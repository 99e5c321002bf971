#pragma once

#include <functional>
#include <string>

namespace stagecraft {

/// What the options that every verb takes say, and where messages go.
struct Settings {
  bool json = false;
  bool timings = true;    ///< whether results tell how long planning and replaying took
  bool progress = false;  ///< whether someone watches: only on a terminal
  /// Takes a line for the user that is no result: a warning, a note. Without a final newline.
  std::function<void(const std::string&)> say = [](const std::string&) {};
};

}  // namespace stagecraft
