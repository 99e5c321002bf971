#pragma once

#include <ostream>
#include <string>
#include <vector>

namespace stagecraft {

/// Runs one command as a user types it, without the program's name: the result goes to `out`, everything else to `err`.
/// Returns the exit code. Throws nothing: errors are reported on `err`, or with `--json` on `out`.
[[nodiscard]] int run_command_line(const std::vector<std::string>& arguments, std::ostream& out, std::ostream& err);

}  // namespace stagecraft
