#pragma once

#include <string>
#include <string_view>

namespace stagecraft {

/// Whether standard output is a terminal that shows colours, and the user has not set NO_COLOR.
[[nodiscard]] bool output_shows_colours();

/// The cells of a row of a timeline with the colours of their kinds of operation: blue for forwards, yellow for
/// backwards, green for recomputes and swaps, and so on. A computation has a coloured background, a transfer coloured
/// letters. Each coloured part ends with a reset, so the text behind the row has none.
[[nodiscard]] std::string coloured(std::string_view cells);

}  // namespace stagecraft
