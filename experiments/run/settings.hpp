#pragma once

#include <functional>
#include <string>

namespace stagecraft {

/// The values of the options that every verb takes, and the receiver of messages.
struct Settings {
  bool json = false;
  bool timings = true;  ///< whether results contain the times that planning and replaying took
  /// Shows the user a line that is not part of the result, such as a warning or a note. It has no final newline.
  std::function<void(const std::string&)> say = [](const std::string&) {};
};

}  // namespace stagecraft
