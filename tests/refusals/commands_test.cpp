// Command lines that are refused, or answered by a clear no (tests/vectors/README.md).
#include "tests/experiments/commands/command.hpp"
#include "tests/refusals/corpus.hpp"

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
  std::string message;  ///< a part of what is said
};

std::vector<Case> cases_of(const fs::path& path) {
  std::vector<Case> cases;
  const std::vector<std::string> lines = lines_of(raw(path));
  for (std::size_t i = 0; i < lines.size(); ++i) {
    if (!lines[i].starts_with("$ ")) continue;
    REQUIRE(i + 1 < lines.size());
    const std::string& answer = lines[i + 1];
    REQUIRE(answer.size() > 2);
    cases.push_back({lines[i].substr(2), answer[0] - '0', answer.substr(2)});
  }
  return cases;
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
  CHECK((ran.err + ran.out).find(expected.message) != std::string::npos);
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
  REQUIRE(Json::accept(ran.out));
  if (ran.code != 2) return;
  const Json error = Json::parse(ran.out)["error"];
  CHECK(error["code"] == 2);
  CHECK_FALSE(error["message"].get<std::string>().empty());
}

TEST_CASE("bad input: each command is refused with its exit code and its message, and writes nothing") {
  std::size_t count = 0;
  for (const fs::path& path : files_of("commands")) {
    for (const Case& each : cases_of(path)) {
      CAPTURE(path.filename().string());
      CAPTURE(each.command);
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
