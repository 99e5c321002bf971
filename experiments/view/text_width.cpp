#include "experiments/view/text_width.hpp"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>

namespace stagecraft {
namespace {

// NOLINTNEXTLINE(cppcoreguidelines-avoid-non-const-global-variables): what all tables of a program are made for
std::optional<std::size_t> screen;

bool begins_character(char c) { return (static_cast<unsigned char>(c) & 0xC0U) != 0x80U; }

/// The number of bytes of the first `count` characters.
std::size_t bytes_of(std::string_view text, std::size_t count) {
  std::size_t position = 0;
  for (; position < text.size(); ++position) {
    if (begins_character(text[position]) && count-- == 0) break;
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
  return static_cast<std::size_t>(std::ranges::count_if(text, begins_character));
}

std::string wrapped(std::string_view text, std::size_t columns) {
  std::string lines;
  while (width_of(text) > columns) {
    const std::size_t fitting = bytes_of(text, columns);
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
  return "…" + std::string(text.substr(bytes_of(text, width - columns + 1)));
}

std::optional<std::size_t> output_terminal_columns() {
  winsize size{};
  const bool known = isatty(STDOUT_FILENO) == 1 && ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0;
  return known ? std::optional<std::size_t>(size.ws_col) : std::nullopt;
}

Screen::Screen(const std::optional<std::size_t>& columns) : before_(screen) { screen = columns; }

Screen::~Screen() { screen = before_; }

std::optional<std::size_t> screen_columns() { return screen; }

}  // namespace stagecraft
