#pragma once

#include "sim/model/platform.hpp"

#include <string>

namespace stagecraft {

/// A description of a kind of node: a line each for devices, host and NIC, without a line end after the last.
[[nodiscard]] std::string node_kind_words(const PlatformSpec& spec, const NodeKind& kind);

/// A description of the network between the nodes, on one line, or several for the levels of a fat tree.
/// **Requires** the node form.
[[nodiscard]] std::string network_words(const Platform& platform);

}  // namespace stagecraft
