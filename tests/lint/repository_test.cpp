#include "tests/lint/class_size.hpp"
#include "tests/lint/links.hpp"
#include "tests/lint/source_tree.hpp"
#include "tests/lint/text_rules.hpp"
#include "tests/lint/walls.hpp"
#include "tests/paths.hpp"

#include <doctest/doctest.h>

#include <functional>
#include <set>
#include <string>
#include <vector>

namespace stagecraft::lint {
namespace {

const std::vector<SourceFile>& tree() {
  static const std::vector<SourceFile> files = read_tree(STAGECRAFT_SOURCE_DIR);
  return files;
}

void check_tree(const std::function<std::vector<Violation>(const SourceFile&)>& rule) {
  std::vector<Violation> violations;
  for (const SourceFile& file : tree()) {
    const std::vector<Violation> found = rule(file);
    violations.insert(violations.end(), found.begin(), found.end());
  }
  CHECK_MESSAGE(violations.empty(), "\n", to_string(violations));
}

TEST_CASE("repository: the lint sees the files it judges") {
  std::set<std::string> paths;
  for (const SourceFile& file : tree()) paths.insert(file.path);
  for (const char* path : {"sim/base/error.hpp", "tests/lint/walls.cpp", "CMakeLists.txt", "check", ".ci/run",
                           "README.md", "docs/README.md"}) {
    CAPTURE(path);
    CHECK(paths.contains(path));
  }
}

TEST_CASE("repository: rooms include only what stands to their left, and third parties stay in their files") {
  std::set<std::string> known;
  for (const SourceFile& file : tree()) known.insert(file.path);
  check_tree([&](const SourceFile& file) { return check_walls(file, known); });
}

TEST_CASE("repository: no tabs, trailing blanks or missing newlines") { check_tree(check_whitespace); }
TEST_CASE("repository: headers start with #pragma once") { check_tree(check_pragma_once); }
TEST_CASE("repository: source files stay within 400 lines") { check_tree(check_length); }
TEST_CASE("repository: lines of source files stay within 120 characters") { check_tree(check_width); }
TEST_CASE("repository: words that the house does not use") { check_tree(check_words); }
TEST_CASE("repository: every data file names its source") { check_tree(check_data); }
TEST_CASE("repository: classes have at most 25 methods and 20 fields") {
  const std::vector<std::string> excused = {};
  const std::vector<Violation> violations = check_class_sizes(tree(), excused);
  CHECK_MESSAGE(violations.empty(), "\n", to_string(violations));
}
TEST_CASE("repository: links of the documents resolve") {
  check_tree([](const SourceFile& file) { return check_links(file, STAGECRAFT_SOURCE_DIR); });
}

}  // namespace
}  // namespace stagecraft::lint
