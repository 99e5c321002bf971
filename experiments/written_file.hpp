#pragma once

#include <string>
#include <string_view>

namespace stagecraft {

/// Writes a file whole or not at all: beside it first, then renamed. What is no regular file (a pipe, a device) is
/// written directly; a link is followed.
/// **Throws** InputError where that is not possible; then an old file of that name is as it was.
void write_file_atomically(const std::string& path, std::string_view content);

}  // namespace stagecraft
