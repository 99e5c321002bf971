#pragma once

#include <ostream>
#include <string>
#include <vector>

namespace stagecraft {

/// Runs one command as a user types it, without the program's name: the result goes to `out`, everything else to `err`.
/// Returns the exit code. Throws nothing: errors are reported on `err`, or with `--json` on `out`.
[[nodiscard]] int run_command_line(const std::vector<std::string>& arguments, std::ostream& out, std::ostream& err);

/// As `run_command_line`, with the progress of a command that takes long on standard error, where `err` has to go, too.
/// If standard output, where `out` has to go, is a terminal, tables fit its width.
[[nodiscard]] int run_watched_command_line(const std::vector<std::string>& arguments, std::ostream& out,
                                           std::ostream& err);

/// For a signal handler that ends the program: removes the line of progress from the terminal, and prints what there is
/// of a result.
void end_interrupted();

}  // namespace stagecraft
