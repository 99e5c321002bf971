#include "experiments/run/search_axes.hpp"

#include "experiments/run/inputs.hpp"
#include "sim/base/error.hpp"

#include <doctest/doctest.h>

#include <cstdint>
#include <string>
#include <vector>

namespace stagecraft {
namespace {

using Axes = std::vector<SearchAxis>;
using Words = std::vector<std::string>;

Inputs inputs_of(const std::string& model, const std::string& platform, std::int64_t sequence) {
  ModelChoice choice;
  choice.computed.sequence = sequence;
  choice.computed.granularity = "block";
  return load_inputs(model, platform, {}, {}, choice);
}

/// The values of each combination, as `4 1` for two axes.
Words tried(const SearchSpace& space, const Inputs& inputs, const PlanningChoices& choices = {}) {
  Words words;
  for (const PlanningChoices& each : combinations_of(space, inputs, choices, [](const std::string&) {})) {
    std::string word;
    for (const SearchAxis axis : space.axes) word += (word.empty() ? "" : " ") + value_text(each, axis);
    words.push_back(word);
  }
  return words;
}

}  // namespace

TEST_CASE("search: axes are read in one order, and recompute is another word for memory") {
  CHECK(read_search_option("zero,tensor").axes == Axes{SearchAxis::Tensor, SearchAxis::Zero});
  CHECK(read_search_option("recompute").axes == Axes{SearchAxis::Memory});
  CHECK(read_search_option("tensor,context,expert,zero,memory,microbatch_size").axes.size() ==
        search_axis_names().size());
  CHECK_THROWS_AS(static_cast<void>(read_search_option("memory,recompute")), InputError);
  CHECK_THROWS_AS(static_cast<void>(read_search_option("sequence")), InputError);
}

// One node of eight devices.
TEST_CASE("search: groups divide the platform, and the small ones come first") {
  const Inputs inputs = inputs_of("gpt2-medium", "dgx-a100", 128);
  CHECK(tried({{SearchAxis::Tensor}}, inputs) == Words{"1", "2", "4", "8"});
  CHECK(tried({{SearchAxis::Tensor, SearchAxis::Context}}, inputs) ==
        Words{"1 1", "2 1", "1 2", "4 1", "2 2", "1 4", "8 1", "4 2", "2 4", "1 8"});
  PlanningChoices fours;
  fours.degrees.tensor = 4;
  CHECK(tried({{SearchAxis::Context}}, inputs, fours) == Words{"1", "2"});
}

TEST_CASE("search: context degrees divide the tokens of a sample") {
  CHECK(tried({{SearchAxis::Context}}, inputs_of("gpt2-medium", "dgx-a100", 4)) == Words{"1", "2", "4"});
}

// Experts of a group are those of its tensor and context indices, or it has more devices: four groups of 2 for
// expert 2 alone, and so on.
TEST_CASE("search: expert degrees are those into which the model divides its experts") {
  CHECK(tried({{SearchAxis::Expert}}, inputs_of("mixtral-8x7b", "dgx-a100-80gb", 128)) == Words{"1", "2", "4", "8"});
  CHECK(tried({{SearchAxis::Expert}}, inputs_of("gpt2-medium", "dgx-a100", 128)) == Words{"1"});
}

TEST_CASE("search: zero has one value where no devices have the same parameters") {
  const Inputs inputs = inputs_of("gpt2-medium", "dgx-a100", 128);
  CHECK(tried({{SearchAxis::Zero}}, inputs) == Words{"0", "1", "2", "3"});
  PlanningChoices whole;
  whole.degrees.tensor = 8;
  CHECK(tried({{SearchAxis::Zero}}, inputs, whole) == Words{"0"});
  whole.degrees = {.tensor = 4, .context = 2};  // the two context indices have the same weights
  CHECK(tried({{SearchAxis::Zero}}, inputs, whole) == Words{"0", "1", "2", "3"});
}

TEST_CASE("search: microbatch sizes are powers of two that divide the global batch") {
  const Inputs inputs = inputs_of("gpt2-medium", "dgx-a100", 128);
  PlanningChoices choices;
  CHECK_THROWS_AS(static_cast<void>(tried({{SearchAxis::MicrobatchSize}}, inputs, choices)), InputError);
  choices.global_batch = 24;
  CHECK(tried({{SearchAxis::MicrobatchSize}}, inputs, choices) == Words{"1", "2", "4", "8"});
  CHECK(tried({{SearchAxis::Memory, SearchAxis::MicrobatchSize}}, inputs, choices).front() == "keep 1");
}

TEST_CASE("search: a range leaves values out") {
  const Inputs inputs = inputs_of("gpt2-medium", "dgx-a100", 128);
  CHECK(tried(read_search_option("tensor=2:4"), inputs) == Words{"2", "4"});
  CHECK(tried(read_search_option("tensor=8,zero"), inputs) == Words{"8 0"});
  CHECK(tried(read_search_option("tensor=4,zero=1:9"), inputs) == Words{"4 1", "4 2", "4 3"});
  CHECK_THROWS_WITH_AS(static_cast<void>(tried(read_search_option("tensor=3"), inputs)),
                       doctest::Contains("no value lies in the ranges"), InputError);
  for (const char* none : {"memory=1", "tensor=", "tensor=4:2", "tensor=x:2", "tensor=0", "zero=1:", "zero=-1"}) {
    CAPTURE(none);
    CHECK_THROWS_AS(static_cast<void>(read_search_option(none)), InputError);
  }
}

// 2^17 samples have 18 such sizes; with 7 groups of up to 64 devices, 4 times zero and 2 policies these are 1008, and
// with the context degrees more than 2000.
TEST_CASE("search: there is a limit for combinations") {
  const Inputs inputs = inputs_of("gpt2-medium", "dgx-a100-80gb", 128);
  PlanningChoices choices;
  choices.global_batch = std::int64_t{1} << 17;
  const SearchSpace space = read_search_option("tensor,context,zero,memory,microbatch_size");
  CHECK_THROWS_WITH_AS(static_cast<void>(tried(space, inputs, choices)),
                       doctest::Contains("expected at most 2000 combinations, found "), InputError);
}

}  // namespace stagecraft
