// The pages of the documentation are refreshed (tests/docs/refresh.hpp), and nothing may change. `console` blocks are
// typed in and get the program's output; three kinds of marks get tables of options, lists of names and figures of
// studies (tests/docs/marks.hpp). With STAGECRAFT_UPDATE set, as by `./check --update`, the pages are written instead.
#include "experiments/run/written_file.hpp"
#include "tests/docs/marks.hpp"
#include "tests/docs/pages.hpp"
#include "tests/docs/refresh.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>
#include <vector>

namespace stagecraft {
namespace {

namespace fs = std::filesystem;

using test::Desk;
using test::read_page;

const fs::path& repository() {
  static const fs::path path = STAGECRAFT_SOURCE_DIR;
  return path;
}

/// Every page but the change log.
std::vector<fs::path> pages() {
  std::vector<fs::path> result = {"README.md", "CONTRIBUTING.md", "platforms/README.md", "traces/README.md"};
  for (const auto& entry : fs::recursive_directory_iterator(repository() / "docs")) {
    const fs::path page = fs::relative(entry.path(), repository());
    if (page.extension() == ".md") result.push_back(page);
  }
  std::ranges::sort(result);
  return result;
}

std::string difference(const fs::path& page, const std::string& expected) {
  const Desk desk;
  std::ofstream(desk.folder / "expected.md") << expected;
  return desk.output_of("diff -u --label '" + page.string() + "' --label 'as it should be' '" +
                        (repository() / page).string() + "' expected.md");
}

bool updates_pages() {
  const char* variable = std::getenv("STAGECRAFT_UPDATE");  // NOLINT(concurrency-mt-unsafe): no thread writes it
  return variable != nullptr && !std::string_view(variable).empty();
}

void judge(const fs::path& page, const std::string& text, const std::string& expected) {
  if (text == expected) return;
  if (updates_pages()) {
    write_file_atomically((repository() / page).string(), expected);
    MESSAGE("updated " << page.string());
  } else {
    FAIL_CHECK(difference(page, expected) << "If this is meant, let ./check --update write the page.");
  }
}

TEST_CASE("docs: pages show what the program prints, its options and names, and the figures of its studies") {
  test::StudyResults results{fs::path(STAGECRAFT_PROGRAM).parent_path() / "tests/golden"};
  for (const fs::path& page : pages()) {
    const std::string text = read_page(repository() / page);
    try {
      judge(page, text,
            test::refreshed(page.string(), text, [&](const test::Mark& mark) { return filled(mark, results); }));
    } catch (const std::exception& problem) {
      FAIL_CHECK(std::string(problem.what()));
    }
  }
}

TEST_CASE("docs: the tutorial and the how-tos show commands") {
  for (const char* folder : {"docs/tutorial", "docs/how-to"}) {
    long commands = 0;
    for (const fs::path& page : pages()) {
      if (page.parent_path() != folder) continue;
      for (const test::Block& block : test::blocks_of(repository() / page)) {
        if (!block.fence.starts_with("console")) continue;
        commands += std::ranges::count_if(block.lines, [](const std::string& line) { return line.starts_with("$ "); });
      }
    }
    CHECK(commands >= 4);
  }
}

}  // namespace
}  // namespace stagecraft
