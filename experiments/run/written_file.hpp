#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace stagecraft {

/// Writes a file whole or not at all: beside it first, then renamed. What is no regular file (a pipe, a device) is
/// written directly; a link is followed.
/// **Throws** InputError where that is not possible; then an old file of that name is as it was.
void write_file_atomically(const std::string& path, std::string_view content);

/// Refuses to write where the command reads. **Throws** InputError if `path` is one of the files `inputs`.
void refuse_overwriting(const std::optional<std::string>& path, const std::vector<std::string>& inputs);

}  // namespace stagecraft
