#pragma once

#include <stdexcept>
#include <string>

namespace stagecraft {

/// Exit codes of the program (docs/reference/command-line.md).
enum class ExitCode { Done = 0, Internal = 1, Input = 2, No = 3, FailedRows = 4, Interrupted = 130 };

/// The base of all our exceptions. It ends a command; a failure after which a computation can go on is a value instead.
class Error : public std::runtime_error {
 public:
  Error(ExitCode code, const std::string& message) : std::runtime_error(message), code_(code) {}
  [[nodiscard]] ExitCode code() const { return code_; }

 private:
  ExitCode code_;
};

/// Where in the user's input something is: an empty file and line 0 mean "not known".
struct InputPlace {
  std::string file;
  int line = 0;     ///< from 1
  int column = 0;   ///< from 1
  std::string key;  ///< key path, e.g. `layers[3].forward`
  friend bool operator==(const InputPlace&, const InputPlace&) = default;
};

/// The user's input cannot be used. Says what was expected, what was found, and gives a hint. Exit code 2.
class InputError : public Error {
 public:
  explicit InputError(std::string message, InputPlace place = {}, std::string hint = {});

  [[nodiscard]] const std::string& message() const { return message_; }
  [[nodiscard]] const InputPlace& place() const { return place_; }
  [[nodiscard]] const std::string& hint() const { return hint_; }

 private:
  std::string message_;
  InputPlace place_;
  std::string hint_;
};

/// A defect of Stagecraft itself. Exit code 1.
class InternalError : public Error {
 public:
  explicit InternalError(const std::string& message) : Error(ExitCode::Internal, message) {}
};

[[noreturn]] void fail_check(const char* condition, const char* file, int line, const char* message);

}  // namespace stagecraft

/// Checks an invariant of our own code in every build. No input may make it fail.
#define STAGECRAFT_CHECK(condition, message) \
  (static_cast<bool>(condition) ? void(0) : ::stagecraft::fail_check(#condition, __FILE__, __LINE__, message))
