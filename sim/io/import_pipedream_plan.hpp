#pragma once

#include "sim/io/pipedream_conf.hpp"
#include "sim/io/pipedream_graph.hpp"
#include "sim/model/layer_graph.hpp"
#include "sim/model/plan.hpp"
#include "sim/model/platform.hpp"

#include <optional>
#include <vector>

namespace stagecraft {

/// The stages of a partitioned graph. Without a configuration, the nodes of stage s are on the platform's s-th device;
/// with one, rank r is the r-th device. If the configuration has one module more than the graph has stages, module k is
/// stage k of the graph, as PipeDream's optimizer makes the modules, and several may be on one stage. Otherwise its
/// stages are the graph's. Nodes that are no layers need no stage.
/// **Requires** an acyclic graph of layers. **Throws** InputError, at its place in the files, for nodes and layers
/// without partners, for stages that are missing or feed earlier ones, and for ranks that are no devices.
[[nodiscard]] std::vector<Stage> pipedream_stages(const PipedreamGraph& file, const std::optional<PipedreamConf>& conf,
                                                  const LayerGraph& graph, const Platform& platform);

}  // namespace stagecraft
