#pragma once

#include "experiments/commands/verb.hpp"

#include <functional>
#include <ostream>
#include <string>
#include <vector>

namespace stagecraft {

/// The answer to a command, or the error that it ended with: its message and its JSON document.
struct CommandEnd {
  Answer answer;
  bool failed = false;
  bool wants_json = false;  ///< whether the user asked for JSON
};

enum class Progress { Hidden, Shown };  ///< of a command that takes long, on standard error

/// Runs one command as a user types it, without the program's name. Throws nothing. What is not part of the result goes
/// to `say` (`Settings`).
[[nodiscard]] CommandEnd end_of_command(const std::vector<std::string>& arguments,
                                        const std::function<void(const std::string&)>& say,
                                        Progress progress = Progress::Hidden);

/// The end of some work that may throw.
[[nodiscard]] CommandEnd end_of(const std::function<Answer()>& work);

/// Runs one command as a user types it, without the program's name: the result goes to `out`, everything else to `err`.
/// Returns the exit code. Throws nothing: errors are reported on `err`, or with `--json` on `out`.
[[nodiscard]] int run_command_line(const std::vector<std::string>& arguments, std::ostream& out, std::ostream& err);

/// As `run_command_line`, with its progress on standard error, where `err` has to go, too. If standard output, where
/// `out` has to go, is a terminal, tables fit its width.
[[nodiscard]] int run_watched_command_line(const std::vector<std::string>& arguments, std::ostream& out,
                                           std::ostream& err);

/// For a signal handler that ends the program: removes the line of progress from the terminal, and prints what there is
/// of a result.
void end_interrupted();

}  // namespace stagecraft
