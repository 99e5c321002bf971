// The pages in web/built are made from the source beside them. `./check --full` builds them anew; this needs no Node.
#include "sim/io/sha256.hpp"
#include "tests/paths.hpp"

#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>
#include <string>

namespace stagecraft {
namespace {

namespace fs = std::filesystem;

std::string content_of(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  REQUIRE(file);
  return {std::istreambuf_iterator<char>(file), {}};
}

}  // namespace

TEST_CASE("pages: built from the source as it is; else run: cd web; npm ci; node build.mjs") {
  const fs::path web = fs::path(STAGECRAFT_SOURCE_DIR) / "web";
  std::set<std::string> names{"build.mjs", "package-lock.json"};
  for (const fs::directory_entry& entry : fs::recursive_directory_iterator(web / "src")) {
    if (entry.is_regular_file()) names.insert(entry.path().lexically_relative(web).generic_string());
  }
  std::string source;
  for (const std::string& name : names) source += name + "\n" + content_of(web / name);
  const std::string stamp = "data-source=\"" + sha256(source) + "\"";
  for (const fs::directory_entry& page : fs::directory_iterator(web / "built")) {
    CAPTURE(page.path().filename());
    CHECK(content_of(page.path()).find(stamp) != std::string::npos);
  }
}

}  // namespace stagecraft
