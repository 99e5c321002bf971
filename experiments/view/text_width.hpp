#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace stagecraft {

/// The columns that a UTF-8 text takes in a terminal.
[[nodiscard]] std::size_t width_of(std::string_view text);

/// The text in lines of at most `columns` columns, each with a line end. Lines are broken at blanks, those
/// after a digit only if there is no other, and within a word only if the word alone is longer than a line.
/// **Requires** `columns` > 0.
[[nodiscard]] std::string wrapped(std::string_view text, std::size_t columns);

/// Each line of the text in lines of at most 100 columns, or as many as the screen has, if there is one.
[[nodiscard]] std::string wrapped_lines(std::string_view text);

/// The last characters of the text after `…` if it is wider than `columns`, otherwise the text. The ends of names, not
/// their beginnings, tell devices apart.
[[nodiscard]] std::string shortened(std::string_view text, std::size_t columns);

/// The columns of the terminal that standard output is; none if it is not one.
[[nodiscard]] std::optional<std::size_t> output_terminal_columns();

/// While it lives, tables are made for a screen with that many columns.
class Screen {
 public:
  /// None: the output is no screen.
  explicit Screen(const std::optional<std::size_t>& columns);
  ~Screen();
  Screen(const Screen&) = delete;
  Screen& operator=(const Screen&) = delete;
  Screen(Screen&&) = delete;
  Screen& operator=(Screen&&) = delete;

 private:
  std::optional<std::size_t> before_;
};

/// None without a screen.
[[nodiscard]] std::optional<std::size_t> screen_columns();

}  // namespace stagecraft
