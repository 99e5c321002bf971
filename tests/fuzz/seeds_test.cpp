// The seeds of the fuzzers run in every build, and so under the sanitizers.
#include "tests/fuzz/targets.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <string>

namespace stagecraft::fuzz {
namespace {

TEST_CASE("fuzz targets: every seed is taken or refused, and what is taken reads back") {
  for (const Target& target : targets()) {
    CAPTURE(std::string(target.name));
    const std::vector<std::string> texts = seeds(target);
    CHECK(texts.size() >= 6);
    for (const std::string& text : texts) {
      CAPTURE(text.substr(0, 400));
      CHECK_NOTHROW(target.take(text));
    }
  }
}

TEST_CASE("fuzz targets: the dictionary has the formats' keys, values and units") {
  const std::vector<std::string> words = dictionary();
  for (const char* word : {"backward_weight", "interconnect", "round-robin", "stagecraft/plan/1", "GiB"}) {
    CAPTURE(word);
    CHECK(std::find(words.begin(), words.end(), word) != words.end());
  }
}

}  // namespace
}  // namespace stagecraft::fuzz
