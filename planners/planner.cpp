#include "planners/planner.hpp"

#include "sim/base/error.hpp"
#include "sim/base/text.hpp"

#include <algorithm>
#include <cmath>

namespace stagecraft {
namespace {

template <class T>
const T& value_of(const std::map<std::string, OptionValue>& values, const std::string& name) {
  const auto found = values.find(name);
  STAGECRAFT_CHECK(found != values.end() && std::holds_alternative<T>(found->second),
                   "an option of that name and type in the planner's table");
  return std::get<T>(found->second);
}

std::string place_of(const PlannerInfo& planner, const std::string& option) {
  return "option '" + option + "' of planner '" + planner.name + "'";
}

/// A bound in digits as far as it is a whole number that a double holds.
std::string bound_text(double bound) {
  const bool is_whole = bound == std::floor(bound) && std::abs(bound) < 0x1p53;
  return is_whole ? std::to_string(static_cast<std::int64_t>(bound)) : format_number(bound);
}

std::string bounds_text(const OptionInfo& option) {
  std::string text;
  if (std::isfinite(option.least)) text += " of at least " + bound_text(option.least);
  if (std::isfinite(option.most)) text += (text.empty() ? " of at most " : " and at most ") + bound_text(option.most);
  return text;
}

/// The text as a value of the option's type; none if it is not one.
std::optional<OptionValue> read_value(const OptionInfo& option, const std::string& text) {
  const auto within = [&](double value) { return value >= option.least && value <= option.most; };
  if (std::holds_alternative<bool>(option.default_value)) {
    if (text == "true" || text == "false") return text == "true";
  } else if (std::holds_alternative<std::int64_t>(option.default_value)) {
    const Parsed<std::int64_t> count = parse_count(text);
    if (count && within(static_cast<double>(*count.value))) return *count.value;
  } else if (std::holds_alternative<double>(option.default_value)) {
    const Parsed<double> number = parse_number(text);
    if (number && within(*number.value)) return *number.value;
  } else if (option.choices.empty() || std::ranges::find(option.choices, text) != option.choices.end()) {
    return text;
  }
  return std::nullopt;
}

/// A value of an option that no table describes.
OptionValue read_any_value(const std::string& text) {
  if (text == "true" || text == "false") return text == "true";
  const bool is_negative = text.starts_with('-');
  const std::string digits = text.substr(is_negative ? 1 : 0);
  if (const Parsed<std::int64_t> count = parse_count(digits)) return is_negative ? -*count.value : *count.value;
  if (const Parsed<double> number = parse_number(digits)) return is_negative ? -*number.value : *number.value;
  return text;
}

}  // namespace

std::string type_name(const OptionInfo& option) {
  if (std::holds_alternative<bool>(option.default_value)) return "true|false";
  if (std::holds_alternative<std::int64_t>(option.default_value)) return "count";
  if (std::holds_alternative<double>(option.default_value)) return "number";
  if (option.choices.empty()) return "word";
  std::string joined;
  for (const std::string& choice : option.choices) joined += (joined.empty() ? "" : "|") + choice;
  return joined;
}

std::string to_string(const OptionValue& value) {
  if (const bool* flag = std::get_if<bool>(&value)) return *flag ? "true" : "false";
  if (const std::int64_t* count = std::get_if<std::int64_t>(&value)) return std::to_string(*count);
  if (const double* number = std::get_if<double>(&value)) return format_number(*number);
  return std::get<std::string>(value);
}

bool Options::flag(const std::string& name) const { return value_of<bool>(values_, name); }
std::int64_t Options::count(const std::string& name) const { return value_of<std::int64_t>(values_, name); }
double Options::number(const std::string& name) const { return value_of<double>(values_, name); }
const std::string& Options::word(const std::string& name) const { return value_of<std::string>(values_, name); }

Options parse_options(const PlannerInfo& planner, const std::vector<std::pair<std::string, std::string>>& given) {
  std::map<std::string, OptionValue> values;
  std::vector<std::string> known;
  for (const OptionInfo& option : planner.options) {
    values.emplace(option.name, option.default_value);
    known.push_back(option.name);
  }
  for (const auto& [name, text] : given) {
    const auto option = std::ranges::find(planner.options, name, &OptionInfo::name);
    if (option == planner.options.end() && planner.takes_any_option) {
      values[name] = read_any_value(text);
      continue;
    }
    if (option == planner.options.end()) {
      const std::string none = "planner '" + planner.name + "' has no options";
      throw InputError("planner '" + planner.name + "' has no option " + quote(name), {},
                       known.empty() ? none : suggest_name(name, known));
    }
    const std::optional<OptionValue> value = read_value(*option, text);
    if (!value) {
      throw InputError(place_of(planner, name) + ": expected " + type_name(*option) + bounds_text(*option) +
                       ", found " + quote(text));
    }
    values[name] = *value;
  }
  return Options(std::move(values));
}

Plan empty_plan(const PlannerInfo& planner, const PlanRequest& request) {
  Plan plan;
  plan.planner = planner.name;
  plan.model = request.graph.name;
  plan.platform = request.platform.spec.name;
  plan.microbatch_size = request.graph.microbatch_size;
  plan.microbatches = request.microbatches;
  plan.schedule = request.schedule;
  plan.training = request.training;
  return plan;
}

}  // namespace stagecraft
