#pragma once

#include "sim/base/quantity.hpp"

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace stagecraft {

/// An external program, its input and its limits. It is started without a shell.
struct ForeignProgram {
  /// The program and its arguments. One without a slash is looked for in `PATH`.
  std::vector<std::string> command;
  std::string_view input = {};       ///< its standard input
  Seconds time_limit = Seconds(60);  ///< of wall-clock time
  std::size_t most_output = std::size_t{64} << 20;
  /// Environment variables that are hidden from it: whole names, or beginnings of names that end in `_`.
  std::vector<std::string> hidden_variables = {};
};

/// How a program ended.
struct ForeignEnd {
  enum class How {
    Left,        ///< it exited by itself
    Killed,      ///< it was killed by a signal that we did not send
    TooSlow,     ///< we killed it at the time limit
    TooMuch,     ///< we killed it because it wrote more output than allowed
    NotStarted,  ///< there is no such program, or the system refuses the file
  };
  How how = How::Left;
  int code = 0;        ///< its exit code, the signal, or why it was not started (errno)
  std::string output;  ///< its standard output
  std::string errors;  ///< the end of its standard error, at most 64 KiB
  bool are_errors_cut = false;
  [[nodiscard]] bool succeeded() const { return how == How::Left && code == 0; }
};

/// Runs a program to its end. It may close its input early.
///
/// The program has a process group of its own. The group is killed when this function returns, and also if this process
/// dies in any way; only processes that moved to another session survive. The program inherits the working folder, the
/// environment without the hidden variables, and only the three standard streams.
/// We do not wait for processes that it leaves running: its output is what was written when it ended.
/// **Requires** at least one word, no NUL in any, and a process without further threads.
/// **Throws** InternalError if the system refuses a pipe or a process.
[[nodiscard]] ForeignEnd run_foreign_program(const ForeignProgram& call);

/// Whether `PATH` has an executable file of this name.
[[nodiscard]] bool program_is_there(const std::string& name);

}  // namespace stagecraft
