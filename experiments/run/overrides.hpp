#pragma once

#include "sim/base/error.hpp"
#include "sim/io/sha256.hpp"
#include "sim/model/detail.hpp"

#include <functional>
#include <string>
#include <string_view>

namespace stagecraft {

/// Values that replace those of a file, by their path in it: `network.bandwidth`, `nodes[1].count`.
using FileValues = Detail::Record;

/// The values that replace those of the model's and the platform's file.
struct Overrides {
  FileValues model;
  FileValues platform;
};

/// Replaces one value of a file's content, or adds a key at the end of an existing record. `path` is written as in
/// error messages. Names may contain dots; the longest name that fits is taken.
/// **Throws** InputError if the path leads nowhere.
void set_value(Detail& root, std::string_view path, const Detail& value);

/// A file as it is read.
struct FileText {
  std::string path;  ///< as errors name it
  std::string text;
};

/// The content of a file with the values replaced, as JSON, which every YAML parser can read; the file's own text if
/// there are no values. **Throws** InputError for a text that is no YAML, and for a path that leads nowhere: its key is
/// `option` and the path.
[[nodiscard]] std::string overridden(const FileText& file, const FileValues& values, const std::string& option);

/// Refuses values with which `check` refuses the file's content. An error of the file as it is comes first, with its
/// line; else the first value with which the content is refused is named, by `option` and its path.
/// **Throws** InputError, always. **Requires** that `check` refuses the content with all values.
/// **Cost** that of `check` for each value.
[[noreturn]] void refuse_values(const FileText& file, const FileValues& values, const std::string& option,
                                const std::function<void(const std::string& text)>& check);

/// What `parse(text, path)` reads from a file with values replaced, and the SHA-256 of the content that it reads.
/// **Throws** InputError as `overridden` and `refuse_values`.
template <class Parse>
[[nodiscard]] auto parse_with(const FileText& file, const FileValues& values, const std::string& option,
                              std::string& hash, const Parse& parse) {
  const std::string text = overridden(file, values, option);
  hash = sha256(text);
  if (values.empty()) return parse(text, file.path);
  try {
    return parse(text, file.path);
  } catch (const InputError&) {
    refuse_values(file, values, option, [&](const std::string& tried) { static_cast<void>(parse(tried, file.path)); });
  }
}

}  // namespace stagecraft
