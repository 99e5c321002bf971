#include "sim/io/layout_string.hpp"

#include "sim/base/error.hpp"

#include <doctest/doctest.h>

#include <cstddef>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

namespace stagecraft {
namespace {

using Stages = std::vector<LayoutStage>;

Stages stages_of(const std::string& text) { return parse_layout(text, {}).stages; }

/// The number that begins at `at`, behind which `at` then stands.
std::size_t number_at(const std::string& text, std::size_t& at) {
  std::size_t number = 0;
  for (; at < text.size() && text[at] >= '0' && text[at] <= '9'; ++at) {
    number = number * 10 + static_cast<std::size_t>(text[at] - '0');
  }
  return number;
}

std::string times(const std::string& what, std::size_t count) {
  std::string all;
  for (std::size_t i = 0; i < count; ++i) all += what;
  return all;
}

/// As Megatron-LM reads: commas go, then groups are written out, then single characters, then the text is divided.
Stages in_passes(std::string text) {
  std::erase(text, ',');
  std::string without_groups;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t close = text.find(')', at);
    if (text[at] != '(') {
      without_groups += text[at++];
      continue;
    }
    const std::string inner = text.substr(at + 1, close - at - 1);
    at = close + 2;
    without_groups += times(inner, number_at(text, at));
  }
  std::string plain;
  for (std::size_t at = 0; at < without_groups.size();) {
    const std::string symbol(1, without_groups[at++]);
    std::size_t count = 1;
    if (at < without_groups.size() && without_groups[at] == '*') count = number_at(without_groups, ++at);
    plain += times(symbol, count);
  }
  Stages stages{""};
  for (const char c : plain) {
    if (c == '|') {
      stages.emplace_back();
    } else {
      stages.back() += c;
    }
  }
  return stages;
}

/// A random layout in any way of writing: runs, groups, commas and empty stages.
class Scribe {
 public:
  explicit Scribe(unsigned seed) : random_(seed) {}

  std::string layout() {
    std::string text = one_in(4) ? "E," : "E";
    for (std::uint32_t part = random_() % 8; part > 0; --part) {
      const std::string inner = symbols();
      text += one_in(2) ? "(" + inner + ")*" + std::to_string(1 + random_() % 12) : inner;
      if (one_in(3)) text += ',';
    }
    return text + (one_in(2) ? "|L" : "L");
  }

 private:
  bool one_in(std::uint32_t count) { return random_() % count == 0; }

  std::string symbols() {
    std::string text;
    for (std::uint32_t i = 1 + random_() % 4; i > 0; --i) {
      text += one_in(3) ? '|' : one_in(9) ? 'm' : 't';
      if (one_in(3)) text += "*" + std::to_string(1 + random_() % 11);
    }
    return text;
  }

  std::mt19937 random_;
};

/// Where the layout is refused, and why.
std::pair<int, std::string> refusal(const std::string& text, int column = 1) {
  try {
    static_cast<void>(parse_layout(text, {"f", 2, column, "--layout"}));
  } catch (const InputError& error) {
    CHECK(error.place().line == 2);
    return {error.place().column, error.message()};
  }
  return {0, ""};
}

TEST_CASE("layout string: stages, runs, groups, empty stages and commas") {
  CHECK(stages_of("Et|tL") == Stages{"Et", "tL"});
  CHECK(stages_of("Et*3|(tt|)*2,m|L") == Stages{"Ettt", "tt", "tt", "m", "L"});
  CHECK(stages_of("E|(t*2|)*2|*2L") == Stages{"E", "tt", "tt", "", "", "L"});
  CHECK(stages_of("E(t|t)*2L") == Stages{"Et", "tt", "tL"});
  CHECK(stages_of("").size() == 1);
  CHECK(parse_layout("Et*2|(tL)*1", {}).columns == std::vector<std::vector<int>>{{1, 2, 2}, {7, 8}});
}

TEST_CASE("layout string: 200 random ones are read as Megatron-LM reads them, and written in one way") {
  for (unsigned seed = 0; seed < 200; ++seed) {
    const std::string text = Scribe(seed).layout();
    CAPTURE(text);
    const Stages stages = stages_of(text);
    CHECK(stages == in_passes(text));
    const std::string written = write_layout(stages);
    CAPTURE(written);
    CHECK(stages_of(written) == stages);
    CHECK(in_passes(written) == stages);
    CHECK(write_layout(stages_of(written)) == written);
    std::size_t plain = stages.size() - 1;
    for (const LayoutStage& stage : stages) plain += stage.size();
    CHECK(written.size() <= plain);
  }
}

TEST_CASE("layout string: the written form") {
  const auto written = [](const std::string& text) { return write_layout(stages_of(text)); };
  CHECK(written("Ettt|tt|tt|tt|tt|m|L") == "Et*3|(tt|)*4m|L");
  CHECK(written("E|t|t|t|L") == "E|t|t|t|L");
  CHECK(written("E||||||L") == "E||*5L");
  CHECK(written("Et*12|t*12|t*12") == "Et*12|t*12|t*12");
  CHECK(written("t*12|t*12|t*12|t*12") == "(t*12|)*3t*12");
}

TEST_CASE("layout string: what is wrong is refused at its column") {
  const auto refuses = [](const std::string& text, int column, const std::string& message) {
    CAPTURE(text);
    CHECK(refusal(text) == std::pair(column, message));
    CHECK(refusal(text, 31).first == column + 30);
  };
  const std::string expected = "expected one of E, t, L and '|', or a group in brackets, found ";
  refuses("Etx|L", 3, expected + "'x'");
  refuses("Et |L", 3, expected + "' '");
  refuses("*3t", 1, expected + "'*'");
  refuses("Et)*2", 3, expected + "')'");
  refuses("Et*|L", 4, "expected a whole number behind '*', found '|'");
  refuses("Et*", 4, "expected a whole number behind '*', found the end of the layout");
  refuses("Et*0L", 4, "expected a whole number from 1, found '0'");
  refuses("Et*2*3L", 5, "what is repeated cannot be repeated again");
  refuses("E(tt|)L", 7, "expected '*' and a whole number behind the group, found 'L'");
  refuses("E(tt|L", 2, "the bracket is not closed");
  refuses("E(t(t|)*2)*2L", 4, "a group cannot have brackets inside");
  refuses("E()*2L", 2, "a group in brackets has at least one symbol");
  refuses("Et*3,4L", 6, "a comma says nothing, so Megatron-LM would read on with the number before it");
  refuses("E(t*1000000)*2L", 2, "the layout has more than 1000000 symbols");
  refuses("Et*99999999999999999999L", 2, "the layout has more than 1000000 symbols");
}

}  // namespace
}  // namespace stagecraft
