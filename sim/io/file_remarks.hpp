#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace stagecraft {

/// What a reader of model, platform, device or events files accepts although it may not be meant, one sentence each
/// with its place: sizes in bits, a NIC faster than any in bytes per second, tensor cores that are taken to reach the
/// share of their peak that ordinary cores reach, slowdowns that make a device faster, wishes for rings that have no
/// effect, and links without ends on which a device's sending and receiving meet in one direction.
/// **Requires** text that the reader of its format accepts. **Cost** that of parsing the text.
[[nodiscard]] std::vector<std::string> file_remarks(std::string_view text, const std::string& file_name);

}  // namespace stagecraft
