#include "sim/base/error.hpp"

namespace stagecraft {
namespace {

std::string describe(const std::string& message, const InputPlace& place, const std::string& hint) {
  std::string text;
  if (!place.file.empty()) {
    text += place.file;
    if (place.line > 0) text += ":" + std::to_string(place.line);
    if (place.line > 0 && place.column > 0) text += ":" + std::to_string(place.column);
    text += ": ";
  }
  if (!place.key.empty()) text += place.key + ": ";
  text += message;
  if (!hint.empty()) text += " (" + hint + ")";
  return text;
}

}  // namespace

InputError::InputError(std::string message, InputPlace place, std::string hint)
    : Error(ExitCode::Input, describe(message, place, hint)),
      message_(std::move(message)),
      place_(std::move(place)),
      hint_(std::move(hint)) {}

void fail_check(const char* condition, const char* file, int line, const char* message) {
  throw InternalError(std::string("internal check failed: ") + message + " [" + condition + ", " + file + ":" +
                      std::to_string(line) + "]");
}

}  // namespace stagecraft
