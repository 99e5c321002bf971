#pragma once

#include "experiments/commands/command_line.hpp"

#include <sstream>
#include <string>
#include <vector>

namespace stagecraft {

/// The result of a command.
struct Ran {
  int code = 0;
  std::string out;
  std::string err;
};

/// Runs a command in this process, as if typed without the program's name.
inline Ran run(const std::vector<std::string>& arguments) {
  std::ostringstream out;
  std::ostringstream err;
  const int code = run_command_line(arguments, out, err);
  return {code, out.str(), err.str()};
}

}  // namespace stagecraft
