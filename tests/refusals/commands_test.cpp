// Command lines that are refused, or answered by a clear no (tests/vectors/README.md).
#include "tests/experiments/command.hpp"
#include "tests/refusals/corpus.hpp"

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include <algorithm>
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

}  // namespace
}  // namespace stagecraft::refusals
