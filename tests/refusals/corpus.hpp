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

/// The text with every `what` replaced by `by`.
[[nodiscard]] std::string replaced(std::string text, const std::string& what, const std::string& by);

/// What a message says: its first line up to the bracket that ends it, if one does. A hint or a list of known names
/// stands in that bracket. A bracket within the line belongs to what is said.
[[nodiscard]] std::string beginning(const std::string& message);

/// Whether a text lists the names that are known, so that a new name would change it.
[[nodiscard]] bool lists_names(const std::string& text);

/// Whether the message is as expected: it starts with the expectation, which neither ends within a word or a number nor
/// lists known names.
[[nodiscard]] bool is_kept(const std::string& expectation, const std::string& message);

/// A command line as a shell would split it: blanks separate, single quotes hold together, `\n` and such are not
/// known. `@/` at the start of a word, or behind a `=`, is the folder of the vectors, `@out/` that of `out`.
[[nodiscard]] std::vector<std::string> split(const std::string& command, const std::filesystem::path& out);

/// What a command says, with its places as `split` takes them: the folder of the vectors is `@`, `out` is `@out`.
[[nodiscard]] std::string with_places(const std::string& said, const std::filesystem::path& out);

/// A folder that is empty at first and gone afterwards.
struct Folder {
  test::TemporaryFolder temporary;
  std::filesystem::path path = temporary.path();
};

}  // namespace stagecraft::refusals
