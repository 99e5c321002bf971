#include "tests/experiments/commands/shell.hpp"

#include "tests/paths.hpp"

#include <sys/wait.h>

namespace stagecraft::test {

ShellRun shell(const std::string& script, const std::string& folder) {
  const TemporaryFolder streams;
  const std::string command = "S='" STAGECRAFT_PROGRAM "'; D='" + folder + "'; cd '" STAGECRAFT_SOURCE_DIR "'; ( " +
                              script + " ) >'" + streams / "out" + "' 2>'" + streams / "err" + "' </dev/null";
  const int status = std::system(command.c_str());  // NOLINT(bugprone-command-processor,concurrency-mt-unsafe): a test
  return {WIFEXITED(status) ? WEXITSTATUS(status) : -1, content_of(streams / "out"), content_of(streams / "err")};
}

}  // namespace stagecraft::test
