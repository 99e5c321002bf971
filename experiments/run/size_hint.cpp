#include "experiments/run/size_hint.hpp"

#include "experiments/run/degrees_text.hpp"
#include "sim/base/counted.hpp"
#include "sim/base/text.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cstddef>
#include <string_view>

namespace stagecraft {
namespace {

constexpr std::string_view kNumbers = "choose ";
constexpr std::string_view kMicrobatches = "--microbatches";

bool is_digit(char c) { return c >= '0' && c <= '9'; }

/// The text with `factor` times each whole number in it.
std::string with_multiples(std::string_view text, std::int64_t factor) {
  std::string multiplied;
  while (!text.empty()) {
    const auto end = std::ranges::find_if(text, [&](char c) { return is_digit(c) != is_digit(text.front()); });
    const std::string part(text.begin(), end);
    multiplied += is_digit(part.front()) ? std::to_string(std::stoll(part) * factor) : part;
    text.remove_prefix(part.size());
  }
  return multiplied;
}

}  // namespace

std::string in_given_terms(const std::string& hint, const PlanningChoices& choices, std::int64_t samples) {
  const std::size_t option = hint.find(kMicrobatches);
  const std::size_t numbers = option == std::string::npos ? option : hint.rfind(kNumbers, option);
  if (numbers == std::string::npos || (!choices.global_batch && !choices.samples_per_update)) return hint;
  return fmt::format("{}{}{}, since a microbatch{} has {}{}", hint.substr(0, numbers),
                     with_multiples(hint.substr(numbers, option - numbers), samples),
                     choices.global_batch ? "--global-batch" : "--samples-per-update", on_groups_text(choices.degrees),
                     counted(samples, "sample"), hint.substr(option + kMicrobatches.size()));
}

}  // namespace stagecraft
