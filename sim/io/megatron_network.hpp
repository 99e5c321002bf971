#pragma once

#include "sim/io/megatron_flags.hpp"
#include "sim/io/megatron_run.hpp"
#include "sim/model/layer_graph.hpp"
#include "sim/workload/network_sizes.hpp"

#include <optional>
#include <string>
#include <vector>

namespace stagecraft {

/// What the flags of a run of Megatron-LM say of its network beside blocks and tokens. With `--hidden-size` they are
/// the whole network: a size that is left out is then the default of Megatron-LM.
struct MegatronNetwork {
  NetworkSizes sizes = {};
  bool is_whole = false;          ///< `--hidden-size` is given
  bool is_latent = false;         ///< `--multi-latent-attention`
  bool has_padded_words = false;  ///< the vocabulary is that of `--padded-vocab-size`
};

/// Takes all flags that say sizes of the network.
/// **Throws** InputError, at its place, for a value that is no whole number from 1, and for groups of queries that
/// Megatron-LM would not use.
[[nodiscard]] MegatronNetwork read_megatron_network(MegatronFlags& flags);

/// Rows of the table of words with those that Megatron-LM adds; none if the flags do not say the vocabulary.
[[nodiscard]] NetworkSizes::Size padded_vocabulary(const MegatronNetwork& network, const MegatronRun& run);

/// Compares the network of the flags with that of the model, of which `graph` is a profile and whose sizes are `known`.
/// Returns the flags, with `--`, for which the model has no size to compare.
/// **Requires** the flags from which the network and the run were read.
/// **Throws** InputError, at the flag, for another size, and for fewer positions than a sample has tokens.
/// **Source** of defaults and of how a vocabulary is padded: NVIDIA, Megatron-LM, megatron/training/arguments.py and
/// megatron/training/tokenizer.
[[nodiscard]] std::vector<std::string> compare_network(const MegatronNetwork& network, const MegatronRun& run,
                                                       const MegatronFlags& flags,
                                                       const std::optional<NetworkSizes>& known,
                                                       const LayerGraph& graph);

}  // namespace stagecraft
