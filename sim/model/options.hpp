#pragma once

#include "sim/base/quantity.hpp"
#include "sim/base/text.hpp"

#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace stagecraft {

/// A flag, a count, a number or a word.
using OptionValue = std::variant<bool, std::int64_t, double, std::string>;

/// One row of a table of options, of a planner or of a schedule. The type of the default is the option's type.
struct OptionInfo {
  std::string name;
  OptionValue default_value;
  std::string description;
  /// The allowed words for an option that is a word; the default is one of them. Empty: any word, checked by the owner.
  std::vector<std::string> choices = {};
  double least = -std::numeric_limits<double>::infinity();
  double most = std::numeric_limits<double>::infinity();
  /// If set, the word may also be a time with its unit, of more than zero and at most this.
  std::optional<Seconds> longest_time = std::nullopt;
};
/// `true|false`, `count`, `number`, `word`, or the choices joined by `|`, with `time` first if a time is allowed.
[[nodiscard]] std::string type_name(const OptionInfo& option);
[[nodiscard]] std::string to_string(const OptionValue& value);

/// What a value must be, with its bounds: `a count of at least 1`, `true|false`.
[[nodiscard]] std::string expected_text(const OptionInfo& option);

/// Reads the text as a value of the option's type and within its bounds. If that fails, `problem` is a hint and may be
/// empty.
[[nodiscard]] Parsed<OptionValue> read_option(const OptionInfo& option, const std::string& text);

/// A value for every option of one table. Made by `parse_options`.
class Options {
 public:
  explicit Options(std::map<std::string, OptionValue> values) : values_(std::move(values)) {}

  /// **Requires** an option of that name and type in the table.
  [[nodiscard]] bool flag(const std::string& name) const;
  [[nodiscard]] std::int64_t count(const std::string& name) const;
  [[nodiscard]] double number(const std::string& name) const;
  [[nodiscard]] const std::string& word(const std::string& name) const;
  [[nodiscard]] const std::map<std::string, OptionValue>& values() const { return values_; }
  /// The same options, but this one has that value.
  [[nodiscard]] Options with(const std::string& name, OptionValue value) const;

 private:
  std::map<std::string, OptionValue> values_;
};

/// Options as a user writes them, a name and a text each; a later one replaces an earlier one.
using GivenOptions = std::vector<std::pair<std::string, std::string>>;

/// The treatment of an option that is not in the table: it is refused, or its type is guessed from its text (`true` and
/// `false`, numbers, and all else as words).
enum class UnknownOptions { Refused, Taken };

/// The table's defaults, overwritten by `given`. Messages call the owner of the table `owner`: "planner 'spp'".
/// **Throws** InputError for an unknown name (listing the known ones and the nearest) and for a value of the wrong type
/// or out of bounds.
[[nodiscard]] Options parse_options(const std::string& owner, const std::vector<OptionInfo>& table,
                                    const GivenOptions& given, UnknownOptions unknown = UnknownOptions::Refused);

}  // namespace stagecraft
