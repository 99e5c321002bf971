#pragma once

#include <string>
#include <utility>
#include <vector>

namespace stagecraft {

/// Where the numbers of an input come from.
enum class Origin {
  Measured,      ///< on the machine that is described, or one like it
  Published,     ///< by its maker, or in a paper
  Computed,      ///< by a cost model
  Interpolated,  ///< between two sizes of a profile
  Extrapolated,  ///< beyond the sizes of a profile, or by the speeds of kinds of device
  Assumed,       ///< nobody says
};

[[nodiscard]] const char* to_string(Origin origin);

/// The origins that a file may state, with their words. The others follow from how a profile is used.
[[nodiscard]] const std::vector<std::pair<std::string, Origin>>& stated_origins();

}  // namespace stagecraft
