#include "planners/registry.hpp"
#include "sim/base/error.hpp"

#include <doctest/doctest.h>

#include <string>

using namespace stagecraft;

namespace {

PlannerInfo sample_planner() {
  PlannerInfo info;
  info.name = "sample";
  info.options = {{"fast", false, ""},
                  {"depth", std::int64_t{3}, "", {}, 1, 9},
                  {"margin", 0.5, "", {}, 0, 1},
                  {"mode", std::string("greedy"), "", {"greedy", "exact"}}};
  return info;
}

std::string refusal(const PlannerInfo& planner, const std::vector<std::pair<std::string, std::string>>& given) {
  try {
    (void)parse_options(planner, given);
  } catch (const InputError& error) {
    return error.what();
  }
  return "";
}

}  // namespace

TEST_CASE("options: defaults fill in what is not given, the later of two values counts") {
  const Options options = parse_options(sample_planner(), {{"depth", "4"}, {"depth", "5"}, {"mode", "exact"}});
  CHECK_FALSE(options.flag("fast"));
  CHECK(options.count("depth") == 5);
  CHECK(options.number("margin") == 0.5);
  CHECK(options.word("mode") == "exact");
}

TEST_CASE("options: numbers may have an exponent") {
  PlannerInfo info;
  info.options = {{"max_work", 1e3, ""}};
  CHECK(parse_options(info, {{"max_work", "2e10"}}).number("max_work") == 2e10);
}

TEST_CASE("options: an unknown name lists the known ones and the nearest") {
  const std::string message = refusal(sample_planner(), {{"dept", "4"}});
  CHECK(message.find("planner 'sample' has no option 'dept'") != std::string::npos);
  CHECK(message.find("depth") != std::string::npos);
  CHECK(message.find("margin") != std::string::npos);
}

TEST_CASE("options: a planner that takes any gets flags and numbers as such, all else as words") {
  PlannerInfo planner = sample_planner();
  planner.takes_any_option = true;
  const Options options = parse_options(planner, {{"depth", "4"},
                                                  {"flag", "true"},
                                                  {"count", "-12"},
                                                  {"number", "-0.5e1"},
                                                  {"huge", "99999999999999999999"},
                                                  {"version", "1.2.3"},
                                                  {"zeros", "007"},
                                                  {"dash", "-"},
                                                  {"nothing", ""}});
  CHECK(options.count("depth") == 4);
  CHECK(options.flag("flag"));
  CHECK(options.count("count") == -12);
  CHECK(options.number("number") == -5.0);
  CHECK(options.number("huge") == 1e20);
  CHECK(options.word("version") == "1.2.3");
  CHECK(options.word("zeros") == "007");
  CHECK(options.word("dash") == "-");
  CHECK(options.word("nothing").empty());
  CHECK(refusal(planner, {{"depth", "many"}}).find("expected count") != std::string::npos);
}

TEST_CASE("options: a value of the wrong type or out of bounds is refused with what was expected") {
  CHECK(refusal(sample_planner(), {{"fast", "yes"}}) ==
        "option 'fast' of planner 'sample': expected true|false, found 'yes'");
  CHECK(refusal(sample_planner(), {{"depth", "12"}}) ==
        "option 'depth' of planner 'sample': expected count of at least 1 and at most 9, found '12'");
  CHECK(refusal(sample_planner(), {{"depth", "2.5"}}) != "");
  CHECK(refusal(sample_planner(), {{"margin", "1.5"}}) ==
        "option 'margin' of planner 'sample': expected number of at least 0 and at most 1, found '1.5'");
  CHECK(refusal(sample_planner(), {{"mode", "slow"}}) ==
        "option 'mode' of planner 'sample': expected greedy|exact, found 'slow'");
}

TEST_CASE("registry: every planner is found by its name, and its option table is consistent") {
  CHECK_FALSE(all_planners().empty());
  for (const PlannerInfo* planner : all_planners()) {
    CAPTURE(planner->name);
    CHECK(&find_planner(planner->name) == planner);
    CHECK_FALSE(planner->summary.empty());
    CHECK_FALSE(planner->source.empty());
    std::vector<std::pair<std::string, std::string>> defaults;
    for (const OptionInfo& option : planner->options) {
      CHECK_FALSE(option.description.empty());
      defaults.emplace_back(option.name, to_string(option.default_value));
    }
    CHECK(parse_options(*planner, defaults).values() == parse_options(*planner, {}).values());
  }
}

TEST_CASE("registry: an unknown planner is refused with the nearest name") {
  CHECK_THROWS_WITH_AS((void)find_planner("unifrom"), doctest::Contains("uniform"), InputError);
}
