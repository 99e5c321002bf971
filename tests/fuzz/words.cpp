// The targets that read what stands in one value or behind one option.
#include "experiments/run/external_planner.hpp"
#include "experiments/run/option_text.hpp"
#include "experiments/run/set_option.hpp"
#include "planners/registry.hpp"
#include "sim/base/text.hpp"
#include "tests/fuzz/road.hpp"
#include "tests/fuzz/targets.hpp"

#include <algorithm>
#include <vector>

namespace stagecraft::fuzz {
namespace {

/// A quantity that is read is written in a form that reads back to the same value.
template <class Quantity>
void check_quantity(const Parsed<Quantity>& read, std::string (*format)(Quantity),
                    Parsed<Quantity> (*parse)(std::string_view)) {
  if (!read) {
    STAGECRAFT_CHECK(!read.problem.empty(), "a refusal says why");
    return;
  }
  const Parsed<Quantity> again = parse(format(*read.value));
  STAGECRAFT_CHECK(again && *again.value == *read.value, "a quantity reads back");
}

std::vector<std::string> lines_of(std::string_view input) {
  std::vector<std::string> lines;
  while (!input.empty() && lines.size() < 16) {
    const std::string_view line = input.substr(0, input.find('\n'));
    lines.emplace_back(line);
    input.remove_prefix(std::min(line.size() + 1, input.size()));
  }
  return lines;
}

void read_settings(const std::vector<std::string>& lines) {
  UsedPlanners all;
  for (const PlannerInfo* planner : all_planners()) {
    all.push_back(resolve_planner(planner->name));
    takes([&] { static_cast<void>(read_set_option(lines, {all.back()})); });
  }
  takes([&] { static_cast<void>(read_set_option(lines, all)); });
  takes([&] { static_cast<void>(read_set_option(lines)); });
}

}  // namespace

void take_text(std::string_view input) {
  check_quantity<Seconds>(parse_seconds(input), format_seconds, parse_seconds);
  check_quantity<Bytes>(parse_bytes(input), format_bytes, parse_bytes);
  check_quantity<Bytes>(parse_bytes(input), format_whole_bytes, parse_bytes);
  check_quantity<BytesPerSecond>(parse_bandwidth(input), format_bandwidth, parse_bandwidth);
  static_cast<void>(parse_flops_rate(input));
  check_quantity<double>(parse_number(input), format_number, parse_number);
  if (const auto time = parse_seconds(input)) static_cast<void>(format_human_seconds(*time.value));
  if (const auto size = parse_bytes(input)) static_cast<void>(format_human_bytes(*size.value));
  if (const auto rate = parse_bandwidth(input)) static_cast<void>(format_human_bandwidth(*rate.value));
  static_cast<void>(parse_count(input));
  STAGECRAFT_CHECK(quote(input).size() <= 400, "a quoted text stays short");
  static_cast<void>(suggest_name(input.substr(0, 64), {"gpipe", "1f1b", "eager-1f1b", ""}));
}

void take_options(std::string_view input) {
  const std::string whole(input);
  takes([&] { static_cast<void>(read_training_option(whole)); });
  takes([&] { static_cast<void>(read_list_option("--planners", whole)); });
  takes([&] { static_cast<void>(read_count_option("--microbatches", whole, 1, 1000)); });
  takes([&] { static_cast<void>(read_choice_option("--engine", whole, {"replay", "evaluate"})); });
  takes([&] { static_cast<void>(read_speed_options(lines_of(input))); });
  takes([&] { static_cast<void>(find_planner(whole)); });
  read_settings(lines_of(input));
}

}  // namespace stagecraft::fuzz
