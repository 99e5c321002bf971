#pragma once

#include "tests/temporary_folder.hpp"

#include <filesystem>
#include <string>
#include <vector>

namespace stagecraft::refusals {

/// The folder of all test vectors.
[[nodiscard]] std::filesystem::path vectors();

/// The content as it is, text or not.
[[nodiscard]] std::string raw(const std::filesystem::path& path);

/// The files of a folder of the vectors whose names start with `prefix`, in alphabetical order.
[[nodiscard]] std::vector<std::filesystem::path> files_of(const std::string& folder, const std::string& prefix = {});

[[nodiscard]] std::vector<std::string> lines_of(const std::string& text);

/// The text after `mark` in the lines at the top that start with `#`: one entry for each such line.
[[nodiscard]] std::vector<std::string> promises(const std::filesystem::path& path, const std::string& mark);

/// A command line as a shell would split it: blanks separate, single quotes hold together, `\n` and such are not
/// known. `@/` at the start of a word, or behind a `=`, is the folder of the vectors, `@out/` that of `out`.
[[nodiscard]] std::vector<std::string> split(const std::string& command, const std::filesystem::path& out);

/// A folder that is empty at first and gone afterwards.
struct Folder {
  test::TemporaryFolder temporary;
  std::filesystem::path path = temporary.path();
};

}  // namespace stagecraft::refusals
