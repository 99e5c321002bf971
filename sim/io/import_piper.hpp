#pragma once

#include "sim/model/layer_graph.hpp"

#include <cstdint>
#include <string>
#include <string_view>

namespace stagecraft {

/// What is read of a file for Piper's planner.
struct PiperProfile {
  Model model;
  double compute_per_transfer = 0.0;  ///< time of all layers over that of all edges at the file's bandwidth; 0: no edge
  bool has_further_degrees = false;   ///< of tensor parallelism, beside 1
};

/// The model of a file for Piper's planner, for one device without tensor parallelism. A layer has the time of the
/// choice `vanilla`; the part of the forward is what `activation recomp` takes more, or a third without that choice.
/// Its stash is `memoryUsageA`, and its checkpoint that of `activation recomp`. `memoryUsageB` is left out: what
/// training keeps of parameters is a choice of the plan. An edge has its `communicationCost`, and the output of a
/// layer is its largest edge. `unit` is that of times (`read_time_in`).
/// **Requires** microbatch_size > 0. **Throws** InputError at the place of the first defect, and for a cycle.
/// **Source** Tarnawski et al. (2021), Piper; README of the published program.
[[nodiscard]] PiperProfile import_piper(std::string_view text, const std::string& file_name,
                                        std::int64_t microbatch_size, const std::string& device_kind,
                                        const std::string& unit);

}  // namespace stagecraft
