#include "sim/model/options.hpp"

#include "sim/base/error.hpp"
#include "sim/base/text.hpp"

#include <algorithm>
#include <cmath>
#include <optional>

namespace stagecraft {
namespace {

template <class T>
const T& value_of(const std::map<std::string, OptionValue>& values, const std::string& name) {
  const auto found = values.find(name);
  STAGECRAFT_CHECK(found != values.end() && std::holds_alternative<T>(found->second),
                   "an option of that name and type in the table");
  return std::get<T>(found->second);
}

/// A bound as text, in plain digits if it is a whole number that a double holds exactly.
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

/// Reads a word that the option allows, or a time if it allows one.
Parsed<OptionValue> read_word(const OptionInfo& option, const std::string& text) {
  if (option.choices.empty() || std::ranges::find(option.choices, text) != option.choices.end()) return {text, {}, {}};
  if (!option.longest_time) return {std::nullopt, {}, {}};
  const Parsed<Seconds> time = parse_seconds(text);
  if (!time) return {std::nullopt, time.problem, {}};
  if (*time.value > Seconds(0) && *time.value <= *option.longest_time) return {text, {}, {}};
  return {std::nullopt, "a time must be more than zero and at most " + format_seconds(*option.longest_time), {}};
}

/// Reads the value of an option that is not in the table.
OptionValue read_any_value(const std::string& text) {
  if (text == "true" || text == "false") return text == "true";
  const bool is_negative = text.starts_with('-');
  const std::string digits = text.substr(is_negative ? 1 : 0);
  if (const Parsed<std::int64_t> count = parse_count(digits)) return is_negative ? -*count.value : *count.value;
  if (const Parsed<double> number = parse_number(digits)) return is_negative ? -*number.value : *number.value;
  return text;
}

/// **Throws** InputError if the text is not a value of the option.
OptionValue read_value(const std::string& owner, const OptionInfo& option, const std::string& text) {
  Parsed<OptionValue> read = read_option(option, text);
  if (read) return *std::move(read.value);
  throw InputError(
      "option '" + option.name + "' of " + owner + ": expected " + expected_text(option) + ", found " + quote(text), {},
      read.problem);
}

}  // namespace

std::string type_name(const OptionInfo& option) {
  if (std::holds_alternative<bool>(option.default_value)) return "true|false";
  if (std::holds_alternative<std::int64_t>(option.default_value)) return "count";
  if (std::holds_alternative<double>(option.default_value)) return "number";
  if (option.choices.empty()) return "word";
  std::string joined = option.longest_time ? "time" : "";
  for (const std::string& choice : option.choices) joined += (joined.empty() ? "" : "|") + choice;
  return joined;
}

std::string expected_text(const OptionInfo& option) {
  const std::string type = type_name(option);
  const bool is_noun = type == "count" || type == "number" || type == "word";
  return (is_noun ? "a " : "") + type + bounds_text(option);
}

Parsed<OptionValue> read_option(const OptionInfo& option, const std::string& text) {
  const auto within = [&](double value) { return value >= option.least && value <= option.most; };
  if (std::holds_alternative<bool>(option.default_value)) {
    if (text == "true" || text == "false") return {text == "true", {}, {}};
  } else if (std::holds_alternative<std::int64_t>(option.default_value)) {
    const Parsed<std::int64_t> count = parse_count(text);
    if (count && within(static_cast<double>(*count.value))) return {*count.value, {}, {}};
    const bool is_whole = !text.empty() && text.find_first_not_of("0123456789") == std::string::npos;
    if (!count && is_whole) return {std::nullopt, count.problem, {}};
  } else if (std::holds_alternative<double>(option.default_value)) {
    const Parsed<double> number = parse_number(text);
    if (number && within(*number.value)) return {*number.value, {}, {}};
  } else {
    return read_word(option, text);
  }
  return {std::nullopt, {}, {}};
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

Options Options::with(const std::string& name, OptionValue value) const {
  Options changed = *this;
  changed.values_.at(name) = std::move(value);
  return changed;
}

Options parse_options(const std::string& owner, const std::vector<OptionInfo>& table, const GivenOptions& given,
                      UnknownOptions unknown) {
  std::map<std::string, OptionValue> values;
  std::vector<std::string> known;
  for (const OptionInfo& option : table) {
    values.emplace(option.name, option.default_value);
    known.push_back(option.name);
  }
  for (const auto& [name, text] : given) {
    const auto option = std::ranges::find(table, name, &OptionInfo::name);
    if (option != table.end()) {
      values[name] = read_value(owner, *option, text);
    } else if (unknown == UnknownOptions::Taken) {
      values[name] = read_any_value(text);
    } else {
      throw InputError(owner + " has no option " + quote(name), {}, suggest_name(name, known));
    }
  }
  return Options(std::move(values));
}

}  // namespace stagecraft
