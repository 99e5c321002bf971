#pragma once

#include "sim/model/layer_graph.hpp"

#include <cstdint>
#include <string>
#include <string_view>

namespace stagecraft {

/// What is read of a file for the programs of dnn-partitioning.
struct DnnPartitioningProfile {
  Model model;
  bool has_backwards = false;      ///< nodes of backwards
  std::int64_t without_parts = 0;  ///< nodes of which the file does not tell parameters from activations
};

/// The model of a file for the programs of dnn-partitioning, on accelerators. A layer is what has to be on one device:
/// the forward nodes of a `colorClass`, named after the one that takes longest, and its backward nodes. Backward nodes
/// of no such class belong to the layer of those that read them, else of those that feed them. An edge between layers
/// has the bytes (`size`) of the forward nodes that feed it; costs, CPUs and limits are left out.
/// A forward node has one `size`. Where weights are nodes of their own, which nothing feeds and which take no time,
/// these are the parameters and all others the stash; else the stash is what the node sends, and the rest are
/// parameters.
/// Sizes of backward nodes are left out. `unit` is that of times (`read_time_in`).
/// **Requires** microbatch_size > 0. **Throws** InputError at the place of the first defect, for a node that no
/// accelerator has, and for a cycle between layers.
/// **Cost** O(edges · layers of backwards alone).
/// **Source** Tarnawski et al. (2020), Efficient Algorithms for Device Placement of DNN Graph Operators; README of the
/// published programs.
[[nodiscard]] DnnPartitioningProfile import_dnn_partitioning(std::string_view text, const std::string& file_name,
                                                             std::int64_t microbatch_size,
                                                             const std::string& device_kind, const std::string& unit);

}  // namespace stagecraft
