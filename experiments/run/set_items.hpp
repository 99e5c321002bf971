#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace stagecraft {

/// A name and a value as `--set` gives them.
struct SetItem {
  std::string name;
  std::string value;  ///< not empty

  /// How an error names it.
  [[nodiscard]] std::string option() const { return "--set " + name; }
};

/// The length of the name with which a text begins, if a `=` follows and the command knows the name; else 0.
using NameLength = std::function<std::size_t(std::string_view text)>;

/// The length of the text before the first `=` if `is_name` takes it and it has no comma; else 0.
[[nodiscard]] std::size_t length_before_equals(std::string_view text,
                                               const std::function<bool(std::string_view name)>& is_name);

/// The items of texts `NAME=VALUE[,NAME=VALUE…]`. A comma ends a value only where a name follows that the command
/// knows, and neither within brackets nor within quotes. The first name of a text need not be known.
/// **Throws** InputError for a text without a name, and for a value that is empty.
[[nodiscard]] std::vector<SetItem> set_items(const std::vector<std::string>& texts, const NameLength& name_length);

}  // namespace stagecraft
