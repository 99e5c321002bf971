#pragma once

#include "sim/model/layer_graph.hpp"

#include <cstdint>
#include <string>
#include <string_view>

namespace stagecraft {

/// A profile in the graph format of PipeDream's profiler, which DAPPLE shares: times in milliseconds and activations in
/// bytes of the whole minibatch, parameters in bytes. Layers are named after the nodes and keep the file's order;
/// sources whose description starts with `Input` and then sinks whose description starts with `__getitem__` are
/// dropped; the stash is the layer's own activation, as the original counts it; a checkpoint is the bytes of the
/// inputs, at most that. The model is named after the file; `microbatch_size` and `device_kind` are not in the file.
/// **Requires** microbatch_size > 0. **Throws** InputError naming the line.
/// **Source** Narayanan et al. (2019), PipeDream, `graph/graph.py` and `optimizer_graph_hierarchical.py`; blank lines
/// and edges indented by blanks are accepted as DAPPLE does.
[[nodiscard]] Model import_pipedream(std::string_view text, const std::string& file_name, std::int64_t microbatch_size,
                                     const std::string& device_kind);

}  // namespace stagecraft
