#pragma once

#include <string>
#include <vector>

namespace stagecraft::lint {

/// A text file of the repository.
struct SourceFile {
  std::string path;  ///< from the root, with `/`
  std::vector<std::string> lines;
  bool ends_with_newline = true;
};

/// Something a rule refuses; line 0 is the file as a whole.
struct Violation {
  std::string path;
  int line = 0;
  std::string message;
  friend bool operator==(const Violation&, const Violation&) = default;
};

/// `text` as if it were the file at `path`.
[[nodiscard]] SourceFile as_file(const std::string& path, const std::string& text);

/// Every text file that people write, by path: code, build files, scripts, data and documents. Deliberately broken
/// inputs and recorded outputs (`tests/vectors`, `tests/golden`) are left out, and so is what is built.
[[nodiscard]] std::vector<SourceFile> read_tree(const std::string& root);

[[nodiscard]] bool is_code(const SourceFile& file);
[[nodiscard]] bool is_header(const SourceFile& file);
[[nodiscard]] bool is_document(const SourceFile& file);

/// `path:line: message`, one a line.
[[nodiscard]] std::string to_string(const std::vector<Violation>& violations);

}  // namespace stagecraft::lint
