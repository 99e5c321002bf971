#pragma once

#include "sim/workload/decoder.hpp"

#include <string>

namespace stagecraft {

/// The sizes of one member of a group, of sizes without defaults: its part of heads, inner sizes and the table of
/// words, its tokens of a sample, and all experts. `window` stays the keys of the whole sample that a token attends to.
[[nodiscard]] DecoderSize member_size(DecoderSize size, const Degrees& degrees);

/// **Requires** sizes without defaults, and experts where an expert group divides them. **Throws** InputError if the
/// members of a group cannot divide a decoder of these sizes. The hint has what would do.
void require_divisible_decoder(const std::string& name, const DecoderSize& whole, const Degrees& degrees);

}  // namespace stagecraft
