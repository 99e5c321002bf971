#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace stagecraft {

/// Texts by the names under which they are read as files while this lives, before any file of that name: the files that
/// come with a request of `stagecraft serve`. It hides those of one that lives longer.
class GivenFiles {
 public:
  explicit GivenFiles(std::map<std::string, std::string> texts);
  ~GivenFiles();
  GivenFiles(const GivenFiles&) = delete;
  GivenFiles& operator=(const GivenFiles&) = delete;
  GivenFiles(GivenFiles&&) = delete;
  GivenFiles& operator=(GivenFiles&&) = delete;

  /// The text under that name; null if there is none.
  [[nodiscard]] static const std::string* find(const std::string& path);

 private:
  std::map<std::string, std::string> texts_;
  const GivenFiles* outer_;
};

/// The content of a file (or of a pipe), checked by `check_text`.
/// **Throws** InputError for a file that is missing, a directory, unreadable, larger than 64 MiB or not text.
[[nodiscard]] std::string read_text_file(const std::string& path);

/// The same without the check: the content may be anything.
[[nodiscard]] std::string read_bytes_file(const std::string& path);

/// Refuses a name that is empty or that of a directory.
void check_file_name(const std::string& path);

/// Refuses a file that cannot be opened. `error` is the system's number of the reason.
[[noreturn]] void refuse_open(const std::string& path, int error);

/// Takes the parts of a content one after the other.
using TextSink = std::function<void(std::string_view)>;

/// Hands a content to a sink part by part, so that it need not be in memory as a whole.
using TextSource = std::function<void(const TextSink&)>;

[[nodiscard]] TextSource whole(std::string_view content);
[[nodiscard]] std::string text_of(const TextSource& content);

/// Writes the whole content. **Throws** InputError where that is not possible, and what `content` throws.
void write_text_file(const std::string& path, const TextSource& content);

/// **Throws** InputError naming the first place that is neither printable UTF-8 nor white space.
void check_text(std::string_view text, const std::string& file_name);

/// The file beside `path` that may be meant where there is none of that name: the same name with `.yaml` or `.json`, or
/// the nearest name with the same extension.
[[nodiscard]] std::optional<std::string> nearest_file(const std::string& path);

/// The last part of the path up to its first point: `traces/vgg16.graph.txt` becomes `vgg16`.
[[nodiscard]] std::string file_stem(const std::string& path);

/// Whether text is not UTF-8, or has control characters (`is_control_character`).
[[nodiscard]] bool has_control_characters(std::string_view text);

}  // namespace stagecraft
