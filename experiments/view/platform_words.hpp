#pragma once

#include "sim/model/platform.hpp"

#include <string>

namespace stagecraft {

/// What a kind of node is, one line each for devices, host and NIC, without line ends after the last.
[[nodiscard]] std::string node_kind_words(const PlatformSpec& spec, const NodeKind& kind);

/// What joins the nodes, in one or, for the levels of a fat tree, several lines.
/// **Requires** the node form.
[[nodiscard]] std::string network_words(const Platform& platform);

}  // namespace stagecraft
