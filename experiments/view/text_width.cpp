#include "experiments/view/text_width.hpp"

#include "sim/base/utf8.hpp"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <clocale>
#include <cwchar>

namespace stagecraft {
namespace {

// NOLINTNEXTLINE(cppcoreguidelines-avoid-non-const-global-variables): what all tables of a program are made for
std::optional<std::size_t> screen;

/// While it lives, the C library knows the characters of Unicode, whatever the user's locale.
class UnicodeCharacters {
 public:
  UnicodeCharacters() {
    static const locale_t kUnicode = newlocale(LC_CTYPE_MASK, "C.UTF-8", nullptr);
    if (kUnicode != nullptr) before_ = uselocale(kUnicode);
  }
  ~UnicodeCharacters() {
    if (before_ != nullptr) uselocale(before_);
  }
  UnicodeCharacters(const UnicodeCharacters&) = delete;
  UnicodeCharacters& operator=(const UnicodeCharacters&) = delete;
  UnicodeCharacters(UnicodeCharacters&&) = delete;
  UnicodeCharacters& operator=(UnicodeCharacters&&) = delete;

 private:
  locale_t before_ = nullptr;
};

/// The columns that a character takes: two if it is Chinese, none if it is an accent on the one before. One if that is
/// not known.
std::size_t columns_of(std::string_view character) {
  if (character.size() == 1) return 1;
  wchar_t code = 0;
  std::mbstate_t state{};
  if (std::mbrtowc(&code, character.data(), character.size(), &state) != character.size()) return 1;
  const int columns = wcwidth(code);
  return columns < 0 ? 1 : static_cast<std::size_t>(columns);
}

/// The number of bytes of the first characters that fit in so many columns.
std::size_t bytes_of(std::string_view text, std::size_t columns) {
  const UnicodeCharacters known;
  std::size_t position = 0;
  std::size_t taken = 0;
  while (position < text.size()) {
    const std::size_t length = std::max<std::size_t>(utf8_length(text, position), 1);
    taken += columns_of(text.substr(position, length));
    if (taken > columns) break;
    position += length;
  }
  return position;
}

/// The last blank at which a line of at most `fitting` bytes can end: preferably not after a digit, so that a number
/// keeps its unit. None if there is no blank.
std::size_t break_of(std::string_view text, std::size_t fitting) {
  const std::size_t last = text.rfind(' ', fitting);  // a blank just after the line may be the break, too
  std::size_t blank = last;
  while (blank != std::string_view::npos && blank > 0 && text[blank - 1] >= '0' && text[blank - 1] <= '9') {
    blank = text.rfind(' ', blank - 1);
  }
  return blank == std::string_view::npos || blank == 0 ? last : blank;
}

}  // namespace

std::size_t width_of(std::string_view text) {
  const UnicodeCharacters known;
  std::size_t columns = 0;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t length = std::max<std::size_t>(utf8_length(text, at), 1);
    columns += columns_of(text.substr(at, length));
    at += length;
  }
  return columns;
}

std::string wrapped(std::string_view text, std::size_t columns) {
  std::string lines;
  const auto first = [&] { return std::max<std::size_t>(utf8_length(text, 0), 1); };  // also where it is too wide
  while (width_of(text) > columns && text.size() > first()) {
    const std::size_t fitting = std::max(bytes_of(text, columns), first());
    const std::size_t blank = break_of(text, fitting);
    const bool has_break = blank != std::string_view::npos && blank > 0;
    const std::size_t end = has_break ? blank : fitting;
    lines += std::string(text.substr(0, end)) + '\n';
    text.remove_prefix(has_break ? end + 1 : end);
  }
  return lines + std::string(text) + '\n';
}

std::string shortened(std::string_view text, std::size_t columns) {
  const std::size_t width = width_of(text);
  if (width <= columns) return std::string(text);
  if (columns == 0) return "";
  std::string_view end = text;
  const auto first = [&] { return end.substr(0, std::max<std::size_t>(utf8_length(end, 0), 1)); };
  const UnicodeCharacters known;
  while (width_of(end) >= columns || (!end.empty() && columns_of(first()) == 0)) end.remove_prefix(first().size());
  return "…" + std::string(end);
}

std::optional<std::size_t> output_terminal_columns() {
  winsize size{};
  const bool known = isatty(STDOUT_FILENO) == 1 && ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0;
  return known ? std::optional<std::size_t>(size.ws_col) : std::nullopt;
}

Screen::Screen(const std::optional<std::size_t>& columns) : before_(screen) { screen = columns; }

Screen::~Screen() { screen = before_; }

std::optional<std::size_t> screen_columns() { return screen; }

std::string wrapped_lines(std::string_view text) {
  constexpr std::size_t kColumns = 100;  // as the table of a comparison has at most
  std::string lines;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    lines += wrapped(text.substr(begin, end - begin), std::min(kColumns, screen_columns().value_or(kColumns)));
    begin = end + 1;
  }
  return lines;
}

}  // namespace stagecraft
