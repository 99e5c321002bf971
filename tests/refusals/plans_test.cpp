// Plans and orders that can be read and break a rule (tests/vectors/README.md): `check` lists every violation, and
// `simulate` refuses them.
#include "tests/experiments/commands/command.hpp"
#include "tests/refusals/corpus.hpp"
#include "tests/refusals/update.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <string>

namespace stagecraft::refusals {
namespace {

namespace fs = std::filesystem;

std::string without_folder(const std::string& text) {
  return replaced(text, (vectors() / "broken").string() + "/", "");
}

std::string input(const fs::path& path, const std::string& what, const std::string& otherwise) {
  const std::vector<std::string> given = promises(path, what);
  return (vectors() / (given.empty() ? otherwise : given.front())).string();
}

/// The command that judges or runs what the file holds.
std::vector<std::string> command(const std::string& verb, const fs::path& path) {
  const bool is_plan = path.filename().string().starts_with("plan_");
  std::vector<std::string> words{verb,         is_plan ? path.string() : input(path, "plan", "good/plan_pair.yaml"),
                                 "--model",    input(path, "model", "good/model_toy.yaml"),
                                 "--platform", input(path, "platform", "good/platform_two_nodes.yaml")};
  if (!is_plan) words.insert(words.end(), {"--schedule-file", path.string()});
  return words;
}

/// What `check` lists, one violation on each line before the verdict. Places name the file without its folder.
std::vector<std::string> violations(const Ran& ran) {
  std::vector<std::string> lines = lines_of(ran.out);
  if (!lines.empty()) lines.pop_back();
  for (std::string& line : lines) line = without_folder(line);
  return lines;
}

/// What simulate says of the first finding: behind its place, if it has one, it says what a finding is.
std::string told_by_simulate(const std::string& finding, const fs::path& path) {
  if (!finding.starts_with(path.filename().string() + ":")) return finding;
  const std::size_t message = finding.find(": ", finding.find(": ") + 2) + 2;  // behind place and key
  return finding.substr(0, message) + "the plan breaks a rule: " + finding.substr(message);
}

/// Rewrites what the file expects of `check`. Another number of lines at the top moves the lines that places name, so
/// that a second look may be needed.
void renew_violations(const fs::path& path) {
  for (int look = 0; look < 2; ++look) {
    const Ran check = run(command("check", path));
    if (check.code == 3) renew_expectations(path, violations(check));
  }
}

TEST_CASE("bad input: a plan that breaks rules has them all listed by check, and is refused by simulate") {
  const std::vector<fs::path> files = files_of("broken");
  CHECK(files.size() >= 50);
  for (const fs::path& path : files) {
    CAPTURE(path.filename().string());
    if (is_updating()) renew_violations(path);
    const std::vector<std::string> expected = promises(path, "expect");
    CHECK_FALSE(expected.empty());
    if (expected.empty()) continue;
    const Ran check = run(command("check", path));
    CAPTURE(check.err);
    CHECK(check.code == 3);
    const std::vector<std::string> found = violations(check);
    CHECK(found.size() == expected.size());
    for (std::size_t i = 0; i < std::min(found.size(), expected.size()); ++i) {
      CAPTURE(expected[i]);
      CAPTURE(found[i]);
      CHECK(is_kept(expected[i], found[i]));
    }
    const Ran simulate = run(command("simulate", path));
    const bool is_memory = expected.front().starts_with("memory: ");
    CHECK(simulate.code == (is_memory ? 3 : 2));
    if (is_memory) continue;
    CAPTURE(simulate.err);
    const std::string first = beginning(expected.front().substr(expected.front().find(": ") + 2));
    CHECK(without_folder(simulate.err).find(told_by_simulate(first, path)) != std::string::npos);
  }
}

}  // namespace
}  // namespace stagecraft::refusals
