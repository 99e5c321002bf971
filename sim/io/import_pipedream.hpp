#pragma once

#include "sim/io/pipedream_graph.hpp"
#include "sim/model/layer_graph.hpp"

#include <cstdint>
#include <string>
#include <string_view>

namespace stagecraft {

/// The model of a profile in the graph format of PipeDream's profiler, which DAPPLE shares. Layers are named after the
/// nodes and keep the file's order; nodes that are no layers are dropped, and so is every `stage_id`; the stash is the
/// layer's own activation, as the original counts it; a checkpoint is the bytes of the inputs, at most that. The model
/// is named after the file; `microbatch_size` and `device_kind` are not in the file.
/// **Requires** microbatch_size > 0. **Throws** InputError for a graph without layers or with a cycle.
[[nodiscard]] Model import_pipedream(const PipedreamGraph& file, std::int64_t microbatch_size,
                                     const std::string& device_kind);

/// The same from the text of the file. **Throws** as `parse_pipedream_graph`, too.
[[nodiscard]] Model import_pipedream(std::string_view text, const std::string& file_name, std::int64_t microbatch_size,
                                     const std::string& device_kind);

}  // namespace stagecraft
