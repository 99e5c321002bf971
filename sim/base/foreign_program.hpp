#pragma once

#include "sim/base/quantity.hpp"

#include <cstddef>
#include <string>
#include <string_view>

namespace stagecraft {

/// A program of somebody else's, what it is given on its standard input, and what it may take.
struct ForeignProgram {
  std::string path;  ///< of an executable file, started as it is: no search, no shell, no arguments
  std::string_view input;
  Seconds time_limit;  ///< by the clock on the wall
  std::size_t most_output = std::size_t{64} << 20;
};

/// How a program ended.
struct ForeignEnd {
  enum class How {
    Left,        ///< by itself
    Killed,      ///< by a signal that is not ours
    TooSlow,     ///< killed at the time limit
    TooMuch,     ///< killed for more output than it may write
    NotStarted,  ///< the system refuses the file
  };
  How how = How::Left;
  int code = 0;        ///< its exit code, the signal, or why it was not started (errno)
  std::string output;  ///< what it wrote to its standard output
  std::string errors;  ///< the end of what it wrote to its standard error, at most 64 KiB
  bool are_errors_cut = false;
};

/// Runs a program to its end. It may close its input early. It has a process group of its own, of which nothing is left
/// when this returns and little when this process dies, however that happens: only what moved to another session stays.
/// It inherits the working folder and the environment, and no descriptors but the three standard streams.
/// What it leaves running does not make us wait: its output is what was written when it left.
/// **Requires** a process without further threads.
/// **Throws** InternalError if the system refuses a pipe or a process.
[[nodiscard]] ForeignEnd run_foreign_program(const ForeignProgram& call);

}  // namespace stagecraft
