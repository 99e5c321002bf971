#pragma once

#include "sim/model/platform.hpp"

#include <cstdint>
#include <vector>

namespace stagecraft {

// A network of groups of routers. Routers are numbered group by group; only the last group may have fewer than the
// others, and only the last router may have fewer nodes.

[[nodiscard]] std::uint64_t count_dragonfly_links(const DragonflyNetwork& dragonfly, std::uint32_t node_count);

/// **Shape** `widths`: for each node the bandwidth of its NICs.
void add_dragonfly_links(Platform& platform, const DragonflyNetwork& dragonfly,
                         const std::vector<BytesPerSecond>& widths);

/// Adds the links between the routers of two nodes to a route: a local, a global and a local one.
void cross_dragonfly(const Platform& platform, const DragonflyNetwork& dragonfly, std::uint32_t from, std::uint32_t to,
                     Route& into);

/// The bandwidth of its narrowest link; infinite if it has none.
[[nodiscard]] BytesPerSecond narrowest_in_dragonfly(const DragonflyNetwork& dragonfly, std::uint32_t node_count);

/// The most that the first `first_half` nodes can send to the others over all routes: a maximum flow.
/// **Shape** `widths` as above. **Cost** that of a maximum flow over the routers and their links.
[[nodiscard]] BytesPerSecond flow_across_dragonfly(const DragonflyNetwork& dragonfly,
                                                   const std::vector<BytesPerSecond>& widths, std::uint32_t first_half);

}  // namespace stagecraft
