#pragma once

#include "sim/base/quantity.hpp"

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace stagecraft {

/// A program of somebody else's, what it is given, and what it may take. No shell comes in between.
struct ForeignProgram {
  /// The program and its arguments. One without a slash is looked for in `PATH`.
  std::vector<std::string> command;
  std::string_view input = {};       ///< what it reads on its standard input
  Seconds time_limit = Seconds(60);  ///< by the clock on the wall
  std::size_t most_output = std::size_t{64} << 20;
  /// Variables it must not see: whole names, or beginnings that end in `_`.
  std::vector<std::string> hidden_variables = {};
};

/// How a program ended.
struct ForeignEnd {
  enum class How {
    Left,        ///< by itself
    Killed,      ///< by a signal that is not ours
    TooSlow,     ///< killed at the time limit
    TooMuch,     ///< killed for more output than it may write
    NotStarted,  ///< there is no such program, or the system refuses the file
  };
  How how = How::Left;
  int code = 0;        ///< its exit code, the signal, or why it was not started (errno)
  std::string output;  ///< what it wrote to its standard output
  std::string errors;  ///< the end of what it wrote to its standard error, at most 64 KiB
  bool are_errors_cut = false;
  [[nodiscard]] bool succeeded() const { return how == How::Left && code == 0; }
};

/// Runs a program to its end. It may close its input early. It has a process group of its own, of which nothing is left
/// when this returns and little when this process dies, however that happens: only what moved to another session stays.
/// It inherits the working folder, the environment less what is hidden, and no descriptors but the three standard
/// streams.
/// What it leaves running does not make us wait: its output is what was written when it left.
/// **Requires** at least one word, no NUL in any, and a process without further threads.
/// **Throws** InternalError if the system refuses a pipe or a process.
[[nodiscard]] ForeignEnd run_foreign_program(const ForeignProgram& call);

/// Whether `PATH` has an executable file of this name.
[[nodiscard]] bool program_is_there(const std::string& name);

}  // namespace stagecraft
