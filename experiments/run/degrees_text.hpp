#pragma once

#include "sim/model/degrees.hpp"

#include <string>

namespace stagecraft {

/// `tensor 4, context 2 with ring attention, expert 8`: what divides a group; empty for a device alone.
[[nodiscard]] std::string degrees_text(const Degrees& degrees);

/// ` on tensor groups of 4`, or ` on groups of 8 devices (tensor 4, context 2 with ring attention)`; empty for devices
/// that work alone.
[[nodiscard]] std::string on_groups_text(const Degrees& degrees);

/// `1 sample`, or `8 x 1 sample` in groups of eight members with samples of their own: those of a microbatch.
[[nodiscard]] std::string microbatch_text(std::int64_t microbatch_size, const Degrees& degrees);

}  // namespace stagecraft
