#pragma once

#include "experiments/run/overrides.hpp"
#include "sim/io/megatron_flags.hpp"
#include "sim/io/megatron_network.hpp"
#include "sim/io/megatron_run.hpp"
#include "sim/model/layer_graph.hpp"

#include <string>
#include <vector>

namespace stagecraft {

/// The network of a run of Megatron-LM, as a row of measured steps says it.
struct LoggedNetwork {
  LayerGraph graph;                       ///< with blocks as layers; its times are of no use
  FileValues sizes;                       ///< that replace those of an architecture file
  std::vector<std::string> not_compared;  ///< flags, with `--` (`compare_network`)
  std::vector<std::string> remarks;       ///< on the file of the network
};

/// The network that `model` names, by a path or as a known one. Of an architecture file the flags replace the sizes for
/// which a row has columns; what is left has to be that of the flags (`compare_network`).
/// **Requires** the flags from which the run and the network were read.
/// **Throws** InputError for a network that is not known, and at the flag for one that is not that of the run.
[[nodiscard]] LoggedNetwork logged_network(const std::string& model, const MegatronRun& run,
                                           const MegatronNetwork& network, const MegatronFlags& flags);

}  // namespace stagecraft
