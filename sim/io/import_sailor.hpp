#pragma once

#include "sim/model/layer_graph.hpp"
#include "sim/workload/architecture.hpp"
#include "sim/workload/device.hpp"

#include <string>
#include <string_view>

namespace stagecraft {

/// What a profile for Sailor's planner does not say.
struct SailorRun {
  Architecture network;
  std::string device_kind;
  Precision precision = Precision::Fp32;
};

/// What is read of a profile for Sailor's planner.
struct SailorProfile {
  Model model;
  bool has_further_degrees = false;  ///< of tensor parallelism, beside 1
  /// The last layer would do its products many times faster than the blocks do theirs: their times are not in the file.
  bool lacks_last_products = false;
};

/// The model of a profile for Sailor's planner, `{microbatch size: {tensor degree: {layer: [forward, backward,
/// update]}}}` in seconds, for one device without tensor parallelism: a profile for each size that has the degree 1.
/// Layers are those of the network at `Granularity::Block`, with the sizes that the cost model gives for them; a layer
/// before the last that is much shorter than a block is the last norm, which belongs to the last layer of the network.
/// Updates are left out: what training keeps and updates is a choice of the plan.
/// **Throws** InputError at the place of the first defect, for another number of layers than the network's, and for a
/// network that takes no sequences.
/// **Source** Strati et al. (2025), Sailor; the published program, whose profiler says what the layers are.
[[nodiscard]] SailorProfile import_sailor(std::string_view text, const std::string& file_name, const SailorRun& run);

}  // namespace stagecraft
