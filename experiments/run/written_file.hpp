#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace stagecraft {

/// Writes a file completely or not at all: to a temporary file beside it, which is then renamed. A file that is not
/// regular (a pipe, a device) is written directly. A symbolic link is followed.
/// **Throws** InputError if that is not possible; an old file of that name is then unchanged.
void write_file_atomically(const std::string& path, std::string_view content);

/// Refuses to write over a file that the command reads. **Throws** InputError if `path` is one of the files `inputs`.
void refuse_overwriting(const std::optional<std::string>& path, const std::vector<std::string>& inputs);

}  // namespace stagecraft
