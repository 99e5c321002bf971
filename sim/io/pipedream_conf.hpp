#pragma once

#include "sim/base/error.hpp"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace stagecraft {

/// A whole number of a file, and where it is.
struct PlacedCount {
  std::int64_t value = 0;
  InputPlace place;
};

/// A configuration of PipeDream's runtime: which modules, ranks and warm-ups its stages have.
struct PipedreamConf {
  std::vector<PlacedCount> modules;             ///< the stage of each module; the last module is the loss
  std::vector<std::vector<PlacedCount>> ranks;  ///< of each stage, in the order of turns
  std::vector<std::int64_t> depths;             ///< warm-up forwards of each stage on each rank; may be empty
  InputPlace modules_place;                     ///< of the list of modules
};

/// A file with the keys `module_to_stage_map`, `stage_to_rank_map` and perhaps `stage_to_depth_map`. Stages are
/// numbered from 0 without gaps; each has a rank and a module that is not the loss, and the loss is on the last one.
/// **Throws** InputError naming the place of the first defect.
/// **Source** Narayanan et al. (2019), PipeDream, `runtime/runtime.py`.
[[nodiscard]] PipedreamConf parse_pipedream_conf(std::string_view text, const std::string& file_name);

}  // namespace stagecraft
