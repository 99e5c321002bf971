// What a user sees whose standard streams are a terminal.
#include "tests/experiments/commands/shell.hpp"
#include "tests/paths.hpp"

#include <doctest/doctest.h>
#include <pty.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <regex>
#include <sstream>
#include <string>
#include <vector>

namespace stagecraft {
namespace {

using test::shell;
using test::ShellRun;

/// What the program writes to a terminal of that width. `settings` are of the environment.
std::string on_terminal(unsigned short columns, const std::string& arguments,
                        const std::string& settings = "NO_COLOR=1 TERM=xterm") {
  const std::string script =
      "cd '" STAGECRAFT_SOURCE_DIR "' && env -u NO_COLOR " + settings + " '" STAGECRAFT_PROGRAM "' " + arguments;
  const winsize size{24, columns, 0, 0};
  int terminal = -1;
  const pid_t child = forkpty(&terminal, nullptr, nullptr, &size);
  REQUIRE(child >= 0);
  if (child == 0) {
    execl("/bin/sh", "sh", "-c", script.c_str(), static_cast<char*>(nullptr));
    _exit(127);
  }
  std::string text;
  std::array<char, 4096> bytes{};
  for (ssize_t got = 0; (got = ::read(terminal, bytes.data(), bytes.size())) > 0;) {
    text.append(bytes.data(), static_cast<std::size_t>(got));
  }
  close(terminal);
  int status = 0;
  waitpid(child, &status, 0);
  CHECK(WIFEXITED(status));
  return text;
}

/// The lines that are those of the table of devices: its headers, and the rows of a device.
std::vector<std::string> device_lines(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) {
    if (line.ends_with('\r')) line.pop_back();
    if (line.starts_with("device ") || line.starts_with("gpu")) lines.push_back(line);
  }
  return lines;
}

TEST_CASE("terminal: the table of devices and the timeline fit its width; elsewhere the table is whole") {
  const test::TemporaryFolder folder;
  const std::string inputs = " --model bert-large --platform p3.8xlarge-x4 ";
  const ShellRun planned = shell("$S plan" + inputs + "--planner uniform -o $D/plan.yaml", folder.path());
  REQUIRE(planned.code == 0);
  const std::string simulate =
      "simulate '" + folder.path() + "/plan.yaml'" + inputs + "--engine evaluate --timeline --no-timings";
  const std::vector<std::string> narrow = device_lines(on_terminal(80, simulate));
  for (const std::string& line : narrow) {
    CAPTURE(line);
    CHECK(line.size() <= 80);
  }
  const std::vector<std::string> wide = device_lines(on_terminal(200, simulate));
  const std::vector<std::string> elsewhere = device_lines(shell("$S " + simulate).out);
  // A header and a row for the replicas of each of 4 stages, in each of three parts, or in one; and 16 rows of the
  // timeline.
  CHECK(narrow.size() == 3 * 5 + 16);
  CHECK(wide.size() == 5 + 16);
  CHECK(elsewhere.size() == 5 + 16);
  CHECK(elsewhere.front() == wide.front());
  CHECK(wide.front().size() > 80);
}

std::string without_colours(const std::string& text) {
  return std::regex_replace(text, std::regex("\x1b\\[[0-9;]*m"), "");
}

TEST_CASE("terminal: the timeline has colours there, unless the user wants none") {
  const test::TemporaryFolder folder;
  const std::string inputs = " --model bert-large --platform p3.8xlarge-x4 ";
  REQUIRE(shell("$S plan" + inputs + "--planner uniform -o $D/plan.yaml", folder.path()).code == 0);
  const std::string simulate =
      "simulate '" + folder.path() + "/plan.yaml'" + inputs + "--engine evaluate --transfers --no-timings";
  const std::string plain = on_terminal(120, simulate);
  CHECK(plain.find('\x1b') == std::string::npos);
  CHECK(on_terminal(120, simulate, "TERM=dumb") == plain);
  const std::string colours = on_terminal(120, simulate, "TERM=xterm");
  CHECK(colours.find("\x1b[") != std::string::npos);
  CHECK(without_colours(colours) == plain);
  CHECK(shell("$S " + simulate).out.find('\x1b') == std::string::npos);
}

TEST_CASE("terminal: a command that is quick shows no progress") {
  CHECK(on_terminal(80, "list planners").find('\x1b') == std::string::npos);
}

}  // namespace
}  // namespace stagecraft
