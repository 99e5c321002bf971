#pragma once

#include <string>
#include <string_view>
#include <type_traits>

namespace stagecraft {

/// The plural of an English noun: `stages`, `branches`, `copies`.
[[nodiscard]] std::string plural(std::string_view noun);

/// A number with its noun: `1 microbatch`, `0 stages`, `16 switches`.
template <class Count>
  requires std::is_integral_v<Count>
[[nodiscard]] std::string counted(Count count, std::string_view noun) {
  return std::to_string(count) + ' ' + (count == 1 ? std::string(noun) : plural(noun));
}

}  // namespace stagecraft
