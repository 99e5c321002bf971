#include "sim/base/counted.hpp"

namespace stagecraft {

std::string plural(std::string_view noun) {
  constexpr std::string_view kVowels = "aeiou";
  const bool is_after_consonant = noun.size() > 1 && kVowels.find(noun[noun.size() - 2]) == std::string_view::npos;
  if (noun.ends_with('y') && is_after_consonant) return std::string(noun.substr(0, noun.size() - 1)) + "ies";
  const bool hisses = noun.ends_with("ch") || noun.ends_with("sh") || noun.ends_with('s') || noun.ends_with('x');
  return std::string(noun) + (hisses ? "es" : "s");
}

}  // namespace stagecraft
