#include "experiments/view/terminal_colours.hpp"

#include "experiments/view/timeline_picture.hpp"

#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdlib>

namespace stagecraft {
namespace {

constexpr std::string_view kReset = "\x1b[0m";

/// The codes of the eight colours of every terminal. Black letters on a colour can be read on light and dark terminals.
std::string_view code_of(OpKind kind) {
  switch (kind) {
    case OpKind::Forward:
    case OpKind::ForwardBackward: return "\x1b[30;46m";
    case OpKind::Backward:
    case OpKind::BackwardInput: return "\x1b[30;43m";
    case OpKind::BackwardWeight: return "\x1b[30;47m";
    case OpKind::Recompute: return "\x1b[30;42m";
    case OpKind::Update: return "\x1b[30;45m";
    case OpKind::Activation: return "\x1b[36m";
    case OpKind::Gradient: return "\x1b[33m";
    case OpKind::SwapOut:
    case OpKind::SwapIn: return "\x1b[32m";
    default: return "\x1b[35m";
  }
}

}  // namespace

bool output_shows_colours() {
  const auto setting = [](const char* name) -> std::string_view {
    const char* value = std::getenv(name);  // NOLINT(concurrency-mt-unsafe): no threads
    return value != nullptr ? value : "";
  };
  return isatty(STDOUT_FILENO) == 1 && setting("NO_COLOR").empty() && setting("TERM") != "dumb";
}

std::string coloured(std::string_view cells, std::string_view letters) {
  std::string text;
  std::string_view current;
  for (std::size_t i = 0; i < cells.size(); ++i) {
    const auto* const sign = std::ranges::find(kSigns, letters[i], &Sign::letter);
    const std::string_view code = sign == kSigns.end() ? std::string_view() : code_of(sign->kind);
    if (code != current) {
      if (!current.empty()) text += kReset;
      text += code;
      current = code;
    }
    text += cells[i];
  }
  if (!current.empty()) text += kReset;
  return text;
}

}  // namespace stagecraft
