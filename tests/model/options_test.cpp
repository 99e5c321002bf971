#include "sim/model/options.hpp"

#include "sim/base/error.hpp"

#include <doctest/doctest.h>

#include <cstdint>
#include <string>
#include <vector>

using namespace stagecraft;

namespace {

std::vector<OptionInfo> sample_table() {
  return {{"fast", false, ""},
          {"depth", std::int64_t{3}, "", {}, 1, 9},
          {"margin", 0.5, "", {}, 0, 1},
          {"mode", std::string("greedy"), "", {"greedy", "exact"}}};
}

Options parse(const GivenOptions& given) { return parse_options("planner 'sample'", sample_table(), given); }

std::string refusal(const GivenOptions& given, UnknownOptions unknown = UnknownOptions::Refused) {
  try {
    (void)parse_options("planner 'sample'", sample_table(), given, unknown);
  } catch (const InputError& error) {
    return error.what();
  }
  return "";
}

}  // namespace

TEST_CASE("options: defaults fill in what is not given, the later of two values counts") {
  const Options options = parse({{"depth", "4"}, {"depth", "5"}, {"mode", "exact"}});
  CHECK_FALSE(options.flag("fast"));
  CHECK(options.count("depth") == 5);
  CHECK(options.number("margin") == 0.5);
  CHECK(options.word("mode") == "exact");
}

TEST_CASE("options: numbers may have an exponent") {
  CHECK(parse_options("planner 'sample'", {{"max_work", 1e3, ""}}, {{"max_work", "2e10"}}).number("max_work") == 2e10);
}

TEST_CASE("options: an unknown name lists the known ones and the nearest") {
  const std::string message = refusal({{"dept", "4"}});
  CHECK(message.find("planner 'sample' has no option 'dept'") != std::string::npos);
  CHECK(message.find("depth") != std::string::npos);
  CHECK(message.find("margin") != std::string::npos);
}

TEST_CASE("options: where any are taken, unknown ones are flags and numbers as such, all else as words") {
  const Options options = parse_options("planner 'sample'", sample_table(),
                                        {{"depth", "4"},
                                         {"flag", "true"},
                                         {"count", "-12"},
                                         {"number", "-0.5e1"},
                                         {"huge", "99999999999999999999"},
                                         {"version", "1.2.3"},
                                         {"zeros", "007"},
                                         {"dash", "-"},
                                         {"nothing", ""}},
                                        UnknownOptions::Taken);
  CHECK(options.count("depth") == 4);
  CHECK(options.flag("flag"));
  CHECK(options.count("count") == -12);
  CHECK(options.number("number") == -5.0);
  CHECK(options.number("huge") == 1e20);
  CHECK(options.word("version") == "1.2.3");
  CHECK(options.word("zeros") == "007");
  CHECK(options.word("dash") == "-");
  CHECK(options.word("nothing").empty());
  CHECK(refusal({{"depth", "many"}}, UnknownOptions::Taken).find("expected a count") != std::string::npos);
}

TEST_CASE("options: an owner without options says so") {
  try {
    (void)parse_options("schedule 'plain'", {}, {{"depth", "4"}});
    FAIL("the option is taken");
  } catch (const InputError& error) {
    CHECK(std::string(error.what()) == "schedule 'plain' has no option 'depth' (none is known)");
  }
}

TEST_CASE("options: a value of the wrong type or out of bounds is refused with what was expected") {
  CHECK(refusal({{"fast", "yes"}}) == "option 'fast' of planner 'sample': expected true|false, found 'yes'");
  CHECK(refusal({{"depth", "12"}}) ==
        "option 'depth' of planner 'sample': expected a count of at least 1 and at most 9, found '12'");
  CHECK(refusal({{"depth", "2.5"}}) != "");
  CHECK(refusal({{"margin", "1.5"}}) ==
        "option 'margin' of planner 'sample': expected a number of at least 0 and at most 1, found '1.5'");
  CHECK(refusal({{"mode", "slow"}}) == "option 'mode' of planner 'sample': expected greedy|exact, found 'slow'");
}
