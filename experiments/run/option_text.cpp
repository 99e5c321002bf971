#include "experiments/run/option_text.hpp"

#include "experiments/run/limits.hpp"
#include "sim/base/error.hpp"
#include "sim/base/text.hpp"
#include "sim/io/text_file.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <set>

namespace stagecraft {
namespace {

[[noreturn]] void refuse(const std::string& option, const std::string& message, const std::string& hint = {}) {
  throw InputError(message, {"", 0, 0, option}, hint);
}

double read_share(const std::string& option, const std::string& key, const std::string& text) {
  const Parsed<double> share = parse_number(text);
  if (!share || *share.value > 1.0) refuse(option, key + ": expected a number from 0 to 1, found " + quote(text));
  return *share.value;
}

Bytes read_size(const std::string& option, const std::string& key, const std::string& text) {
  const Parsed<Bytes> size = parse_bytes(text);
  if (!size) refuse(option, key + ": " + size.problem, size.hint);
  return *size.value;
}

StashConvention read_stash(const std::string& value) {
  const bool is_input = read_choice_option("--training stash", value, {"autograd", "input"}) == "input";
  return is_input ? StashConvention::Input : StashConvention::Autograd;
}

OptimizerRecipe read_recipe(const std::string& value) {
  return *optimizer_recipe_of(read_choice_option("--training recipe", value, optimizer_recipe_names()));
}

}  // namespace

std::int64_t read_count_option(const std::string& option, const std::string& text, std::int64_t least,
                               std::int64_t most) {
  const Parsed<std::int64_t> count = parse_count(text);
  if (!count || *count.value < least || *count.value > most) {
    refuse(option, fmt::format("expected a whole number from {} to {}, found {}", least, most, quote(text)),
           text.find_first_not_of("0123456789") == std::string::npos ? "" : "digits only");
  }
  return *count.value;
}

std::optional<std::int64_t> read_count_option(const std::string& option, const std::optional<std::string>& text,
                                              std::int64_t least, std::int64_t most) {
  if (!text) return std::nullopt;
  return read_count_option(option, *text, least, most);
}

Seconds read_time_option(const std::string& option, const std::string& text, Seconds most) {
  const Parsed<Seconds> time = parse_seconds(text);
  if (!time) refuse(option, time.problem, time.hint);
  if (!(*time.value > Seconds(0)) || *time.value > most) {
    refuse(option, "expected a time of more than zero and at most " + format_seconds(most) + ", found " + quote(text));
  }
  return *time.value;
}

BytesPerSecond read_bandwidth_option(const std::string& option, const std::string& text) {
  constexpr BytesPerSecond kLeast(1.0);
  constexpr BytesPerSecond kMost(1e18);
  const Parsed<BytesPerSecond> bandwidth = parse_bandwidth(text);
  if (!bandwidth) refuse(option, bandwidth.problem, bandwidth.hint);
  if (*bandwidth.value < kLeast || *bandwidth.value > kMost) {
    refuse(option, "expected a bandwidth from 1 Bps to 1000000 TBps, found " + quote(text));
  }
  return *bandwidth.value;
}

Bytes read_size_option(const std::string& option, const std::string& text) {
  const Parsed<Bytes> size = parse_bytes(text);
  if (!size) refuse(option, size.problem, size.hint);
  if (*size.value == Bytes(0)) refuse(option, "expected a size of more than zero, found " + quote(text));
  return *size.value;
}

std::string read_choice_option(const std::string& option, const std::string& text,
                               const std::vector<std::string>& known) {
  if (std::ranges::find(known, text) == known.end()) {
    refuse(option, "unknown value " + quote(text), suggest_name(text, known));
  }
  return text;
}

namespace {

constexpr std::array kMemoryPolicies{MemoryPolicy::Keep, MemoryPolicy::Recompute, MemoryPolicy::Swap,
                                     MemoryPolicy::Cheapest};

}  // namespace

std::vector<std::string> memory_policies() {
  std::vector<std::string> names;
  for (const MemoryPolicy policy : kMemoryPolicies) names.emplace_back(to_string(policy));
  return names;
}

MemoryPolicy read_memory_option(const std::string& option, const std::string& text) {
  const std::string name = read_choice_option(option, text, memory_policies());
  return *std::ranges::find_if(kMemoryPolicies, [&](MemoryPolicy policy) { return name == to_string(policy); });
}

std::string read_name_option(const std::string& option, const std::string& text) {
  const bool is_printable = std::ranges::none_of(
      text, [](char c) { return static_cast<unsigned char>(c) < 0x20 || static_cast<unsigned char>(c) == 0x7F; });
  if (text.empty() || !is_printable) refuse(option, "expected a name without control characters, found " + quote(text));
  check_text(text, option);
  return text;
}

std::pair<std::string, std::string> read_assignment(const std::string& option, const std::string& text) {
  const std::size_t at = text.find('=');
  if (at == std::string::npos || at == 0) refuse(option, "expected NAME=VALUE, found " + quote(text));
  return {text.substr(0, at), text.substr(at + 1)};
}

std::vector<std::string> read_list_option(const std::string& option, const std::string& text) {
  std::vector<std::string> items;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    if (end == begin) refuse(option, "expected names separated by commas, found " + quote(text));
    items.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return items;
}

const std::vector<std::string>& training_option_keys() {
  static const std::vector<std::string> kKeys = {"gradient_copies",  "optimizer_copies",
                                                 "boundary_buffers", "input_gradient_release",
                                                 "gradient_bucket",  "stash",
                                                 "recipe",           "zero"};
  return kKeys;
}

TrainingChoice read_training_option(const std::optional<std::string>& text) {
  const std::string option = "--training";
  const std::vector<std::string>& keys = training_option_keys();
  TrainingChoice training;
  if (!text) return training;
  std::set<std::string> given;
  for (const std::string& item : read_list_option(option, *text)) {
    const auto [key, value] = read_assignment(option, item);
    if (std::ranges::find(keys, key) == keys.end()) {
      refuse(option, "unknown key " + quote(key), suggest_name(key, keys));
    }
    if (!given.insert(key).second) refuse(option, quote(key) + " is given twice");
    const auto count = [&] {
      return read_count_option(std::string("--training ").append(key), value, 0, run_limits::kMostCopies);
    };
    if (key == keys[0]) training.gradient_copies = count();
    if (key == keys[1]) training.optimizer_copies = count();
    if (key == keys[2]) training.boundary_buffers = count();
    if (key == keys[3]) training.input_gradient_release = read_share(option, key, value);
    if (key == keys[4]) training.gradient_bucket = read_size(option, key, value);
    if (key == keys[5]) training.stash = read_stash(value);
    if (key == keys[6]) training.recipe = read_recipe(value);
    if (key == keys[7]) training.zero = read_count_option("--training zero", value, 0, kMostDivided);
  }
  training.gives_gradient_copies = given.contains(keys[0]);
  training.gives_optimizer_copies = given.contains(keys[1]);
  return training;
}

std::vector<std::pair<std::string, std::string>> read_assignments(const std::string& option,
                                                                  const std::vector<std::string>& texts) {
  std::vector<std::pair<std::string, std::string>> pairs;
  std::set<std::string> given;
  for (const std::string& text : texts) {
    pairs.push_back(read_assignment(option, text));
    const std::string& key = pairs.back().first;
    if (!given.insert(key).second) refuse(option, quote(key) + " is given twice");
  }
  return pairs;
}

ScheduleChoice read_schedule_option(const std::string& option, const std::string& text) {
  const std::size_t comma = text.find(',');
  ScheduleChoice choice{text.substr(0, comma), {}};
  if (comma == std::string::npos) return choice;
  if (comma == 0 || comma + 1 == text.size()) refuse(option, "expected NAME or NAME,K=V,..., found " + quote(text));
  for (auto& [key, value] : read_assignments(option, read_list_option(option, text.substr(comma + 1)))) {
    choice.parameters.emplace_back(std::move(key), std::move(value));
  }
  return choice;
}

std::vector<ScheduleChoice> read_schedules_option(const std::string& option, const std::string& text) {
  std::vector<std::string> texts;  // of one schedule each
  for (const std::string& item : read_list_option(option, text)) {
    if (item.find('=') == std::string::npos) {
      texts.push_back(item);
      continue;
    }
    if (texts.empty()) refuse(option, "expected a schedule before the parameter " + quote(item));
    texts.back() += "," + item;
  }
  std::vector<ScheduleChoice> schedules;
  for (const std::string& each : texts) {
    schedules.push_back(read_schedule_option(option, each));
    const auto& read = schedules.back();
    if (std::ranges::count(schedules, read) > 1) refuse(option, quote(each) + " is given twice");
  }
  return schedules;
}

std::map<std::string, double> read_speed_options(const std::vector<std::string>& texts) {
  std::map<std::string, double> speeds;
  for (const std::string& text : texts) {
    const auto [kind, value] = read_assignment("--speed", text);
    const Parsed<double> speed = parse_number(value);
    if (!speed || *speed.value < 1e-6 || *speed.value > 1e6) {
      refuse("--speed", "expected a number from 1e-6 to 1e6 for " + quote(kind) + ", found " + quote(value));
    }
    if (!speeds.emplace(kind, *speed.value).second) refuse("--speed", quote(kind) + " is given twice");
  }
  return speeds;
}

}  // namespace stagecraft
