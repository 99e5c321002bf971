#include "sim/model/origin.hpp"

namespace stagecraft {

const char* to_string(Origin origin) {
  switch (origin) {
    case Origin::Measured: return "measured";
    case Origin::Published: return "published";
    case Origin::Computed: return "computed";
    case Origin::Interpolated: return "interpolated";
    case Origin::Extrapolated: return "extrapolated";
    case Origin::Assumed: break;
  }
  return "assumed";
}

const std::vector<std::pair<std::string, Origin>>& stated_origins() {
  static const std::vector<std::pair<std::string, Origin>> kWords = [] {
    std::vector<std::pair<std::string, Origin>> words;
    for (const Origin origin : {Origin::Measured, Origin::Published, Origin::Computed, Origin::Assumed}) {
      words.emplace_back(to_string(origin), origin);
    }
    return words;
  }();
  return kWords;
}

}  // namespace stagecraft
