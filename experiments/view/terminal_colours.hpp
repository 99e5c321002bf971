#pragma once

#include <string>
#include <string_view>

namespace stagecraft {

/// Whether standard output is a terminal that shows colours, and the user has not set NO_COLOR.
[[nodiscard]] bool output_shows_colours();

/// The cells of a row of a timeline in the colours of their kinds of operation, whose letters (`Sign::letter`) they
/// have in `letters`: cyan for forwards, yellow for backwards, green for recomputes and swaps, and so on. A computation
/// has a coloured background, a transfer coloured letters. The text behind the row has no colour.
/// **Requires** as many letters as cells.
[[nodiscard]] std::string coloured(std::string_view cells, std::string_view letters);

}  // namespace stagecraft
