#pragma once

#include <chrono>
#include <cstddef>
#include <string>
#include <vector>

namespace stagecraft {

/// A program to run as it is named, without a shell in between.
struct ProgramCall {
  std::vector<std::string> arguments;  ///< the first is the program, looked for in `PATH` if it has no slash
  std::string input = {};              ///< what it reads on its standard input
  std::chrono::milliseconds time_limit{60'000};
  std::size_t kept_output = std::size_t{64} << 20;  ///< bytes of each stream; the rest is read and dropped
  /// Variables it must not see: whole names, or beginnings that end in `_`.
  std::vector<std::string> hidden_variables = {};
};

/// How a program ended.
struct ProgramEnd {
  int exit_code = -1;       ///< -1: it did not leave by itself
  int signal = 0;           ///< that killed it
  bool timed_out = false;   ///< it was killed at its time limit
  std::string not_started;  ///< why it could not be started; empty if it was
  std::string out;
  std::string err;
  [[nodiscard]] bool succeeded() const { return exit_code == 0; }
};

/// Runs a program and waits for its end. It has a process group of its own, so a Ctrl-C of the terminal does not reach
/// it; it is killed with its group at the time limit, and when this process dies.
///
/// **Requires** at least one argument, and no NUL in any.
/// **Throws** InternalError if the system refuses a pipe or a process.
[[nodiscard]] ProgramEnd run_program(const ProgramCall& call);

/// Whether `PATH` has an executable file of this name.
[[nodiscard]] bool program_is_there(const std::string& name);

}  // namespace stagecraft
