// Which expectations hold, and how STAGECRAFT_UPDATE rewrites the others (tests/vectors/README.md).
#include "tests/refusals/update.hpp"

#include "tests/refusals/corpus.hpp"

#include <doctest/doctest.h>

#include <chrono>
#include <fstream>

namespace stagecraft::refusals {
namespace {

namespace fs = std::filesystem;

fs::path file_with(const Folder& folder, const std::string& name, const std::string& content) {
  std::ofstream(folder.path / name) << content;
  return folder.path / name;
}

TEST_CASE("expectations: a message's beginning is its first line without the bracket that ends it") {
  CHECK(beginning("1:2: unknown key 'a' (did you mean 'b'? known: b, c)") == "1:2: unknown key 'a'");
  CHECK(beginning("found 'x' (as in f(x))\nand more") == "found 'x'");
  CHECK(beginning("lacks 2 GiB (2147483648 B), first after 0 s") == "lacks 2 GiB (2147483648 B), first after 0 s");
  CHECK(beginning("found f(x)") == "found f(x)");
  CHECK(beginning("found 'x)") == "found 'x)");
}

TEST_CASE("expectations: a message keeps what it starts with, up to the end of a word") {
  CHECK(is_kept("1:2: found '9'", "1:2: found '9' (known: 8)"));
  CHECK(is_kept("1:2: found 9", "1:2: found 9, not 8"));
  CHECK_FALSE(is_kept("1:2: found 9", "1:2: found 99"));
  CHECK_FALSE(is_kept("1:2: found 9", "1:12: found 9"));
  CHECK_FALSE(is_kept("found 9", "1:2: found 9"));
  CHECK_FALSE(is_kept("", "1:2: found 9"));
  CHECK_FALSE(is_kept("found 'a' (known: b", "found 'a' (known: b)"));
}

TEST_CASE("expectations: one that holds stays, another becomes the message's beginning") {
  CHECK(renewed("1:2: found", "1:2: found '9' (write 8)") == "1:2: found");
  CHECK(renewed("1:2: met", "1:2: found '9' (write 8)") == "1:2: found '9'");
  CHECK(renewed("1:2: met '9' (write 8)", "1:2: found '9' (write 7)") == "1:2: found '9' (write 7)");
  CHECK(renewed("1:2: met '9' (write 8)", "1:2: found '9' (known: 7)") == "1:2: found '9'");
}

TEST_CASE("expectations: only the first line of a bad file is rewritten, and the file beside one of JSON") {
  const Folder folder;
  const fs::path yaml = file_with(folder, "a.yaml", "# expect: 3:1: old\n# expect: not this one\nkey: 1");
  const fs::path json = file_with(folder, "b.json", "{}");
  file_with(folder, "b.json.expect", "1:1: old\n");
  const fs::path bare = file_with(folder, "c.yaml", "key: 1\n");
  for (int i = 0; i < 2; ++i) {
    renew_expectation(yaml, "3:1: new (hint)");
    renew_expectation(json, "1:1: new (hint)");
    renew_expectation(bare, "1:1: new (hint)");
    CHECK(raw(yaml) == "# expect: 3:1: new\n# expect: not this one\nkey: 1");
    CHECK(raw(json) == "{}");
    CHECK(raw(folder.path / "b.json.expect") == "1:1: new\n");
    CHECK(raw(bare) == "key: 1\n");
  }
  CHECK(expectation_of(yaml) == "3:1: new");
  CHECK(expectation_of(json) == "1:1: new");
}

TEST_CASE("expectations: one line stands for each violation, and the other lines at the top stay") {
  const Folder folder;
  const fs::path path = file_with(folder, "a.yaml", "# model: m\n# expect: a: old\n# expect: b: same\nkey: 1\n");
  renew_expectations(path, {"b: same (hint)", "c: added (hint)", "a: new"});
  CHECK(raw(path) == "# model: m\n# expect: b: same\n# expect: c: added\n# expect: a: new\nkey: 1\n");
  renew_expectations(path, {});
  CHECK(promises(path, "expect").size() == 3);
}

TEST_CASE("expectations: a file that has the content already is not written") {
  const Folder folder;
  const fs::path path = file_with(folder, "a.yaml", "# expect: 1:1: a\n");
  fs::last_write_time(path, fs::file_time_type::clock::now() - std::chrono::hours(1));
  const auto then = fs::last_write_time(path);
  renew_expectation(path, "1:1: a (hint)");
  CHECK(fs::last_write_time(path) == then);
  renew_expectation(path, "1:1: b");
  CHECK(fs::last_write_time(path) > then);
  CHECK(fs::directory_iterator(folder.path)->path() == path);  // the only file
}

}  // namespace
}  // namespace stagecraft::refusals
