// Command lines that are refused, or answered by a clear no (tests/vectors/README.md).
#include "tests/experiments/commands/command.hpp"
#include "tests/refusals/corpus.hpp"
#include "tests/refusals/update.hpp"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <nlohmann/json.hpp>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <string>

namespace stagecraft::refusals {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

struct Case {
  std::string command;
  int code = 0;
  std::string message;   ///< a part of what is said
  std::size_t line = 0;  ///< of code and message, from 0
};

std::vector<Case> cases_of(const std::vector<std::string>& lines) {
  std::vector<Case> cases;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    if (!lines[i].starts_with("$ ")) continue;
    REQUIRE(i + 1 < lines.size());
    const std::string& answer = lines[i + 1];
    REQUIRE(answer.size() > 2);
    REQUIRE(answer.find_first_of("0123456789") == 0);
    cases.push_back({lines[i].substr(2), answer[0] - '0', answer.substr(2), i + 1});
  }
  return cases;
}

bool is_said(const Case& expected, const Ran& ran, const fs::path& out) {
  return !lists_names(expected.message) &&
         with_places(ran.err + ran.out, out).find(expected.message) != std::string::npos;
}

/// The line that the command should be followed by: the present one as long as it holds, and if there is no clear no.
std::string renewed_answer(const Case& each, const std::string& answer) {
  const Folder out;
  const Ran ran = run(split(each.command, out.path));
  const bool is_no = ran.code == 2 || ran.code == 3;
  if (!is_no || (ran.code == each.code && is_said(each, ran, out.path))) return answer;
  const std::string mark = "stagecraft: error: ";
  const std::size_t error = ran.err.find(mark);
  const std::string said = error == std::string::npos ? ran.out : ran.err.substr(error + mark.size());
  return std::to_string(ran.code) + " " + beginning(with_places(said, out.path));
}

void renew_commands(const fs::path& path) {
  std::vector<std::string> lines = lines_of(raw(path));
  std::string text;
  for (const Case& each : cases_of(lines)) lines[each.line] = renewed_answer(each, lines[each.line]);
  for (const std::string& line : lines) text += line + "\n";
  if (lines != lines_of(raw(path))) rewrite(path, text);
}

bool is_printable(const std::string& text) {
  return std::ranges::all_of(text,
                             [](char c) { return c == '\n' || (static_cast<unsigned char>(c) >= 0x20 && c != 0x7F); });
}

void check_text(const Case& expected, const fs::path& out) {
  const Ran ran = run(split(expected.command, out));
  CAPTURE(ran.out);
  CAPTURE(ran.err);
  CHECK(ran.code == expected.code);
  CHECK(is_said(expected, ran, out));
  CHECK(is_printable(ran.err));
  if (ran.code != 2) return;
  CHECK(ran.out.empty());
  CHECK(ran.err.find("stagecraft: error: ") != std::string::npos);
  CHECK(fs::is_empty(out));
}

void check_json(const Case& expected, const fs::path& out) {
  const Ran ran = run(split(expected.command + " --json", out));
  CAPTURE(ran.out);
  CHECK(ran.code == expected.code);
  CHECK(Json::accept(ran.out));
  if (ran.code != 2 || !Json::accept(ran.out)) return;
  const Json error = Json::parse(ran.out)["error"];
  CHECK(error["code"] == 2);
  CHECK_FALSE(error["message"].get<std::string>().empty());
}

TEST_CASE("bad input: each command is refused with its exit code and its message, and writes nothing") {
  std::size_t count = 0;
  for (const fs::path& path : files_of("commands")) {
    if (is_updating()) renew_commands(path);
    for (const Case& each : cases_of(lines_of(raw(path)))) {
      CAPTURE(path.filename().string());
      CAPTURE(each.command);
      CAPTURE(each.message);
      const Folder out;
      check_text(each, out.path);
      check_json(each, out.path);
      ++count;
    }
  }
  CHECK(count >= 100);
}

/// An environment variable until the end of the block.
class Variable {
 public:
  Variable(const char* name, const char* value) : name_(name), old_(std::getenv(name)) { setenv(name, value, 1); }
  ~Variable() { setenv(name_, old_.c_str(), 1); }
  Variable(const Variable&) = delete;
  Variable& operator=(const Variable&) = delete;

 private:
  const char* name_;
  std::string old_;
};

TEST_CASE("bad input: a study for Slurm is refused where Slurm is absent, before anything is written") {
  const Variable path("PATH", "/nonexistent");
  const Folder out;
  check_text({"run @/commands/study_small.yaml --executor slurm --out @out/results", 2,
              "--executor slurm: sbatch, squeue and scancel are not in PATH"},
             out.path);
}

TEST_CASE("bad input: a folder in which another run is at work is refused") {
  const Folder out;
  const int lock = open((out.path / ".lock").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644);
  REQUIRE(lock >= 0);
  REQUIRE(flock(lock, LOCK_EX | LOCK_NB) == 0);
  const Ran ran = run({"run", (vectors() / "commands/study_small.yaml").string(), "--out", out.path.string()});
  close(lock);
  CHECK(ran.code == 2);
  CHECK(ran.err.find("another run is using this folder") != std::string::npos);
}

}  // namespace
}  // namespace stagecraft::refusals
