#pragma once

#include <cstddef>
#include <cstdio>
#include <memory>
#include <string>
#include <vector>

struct z_stream_s;  // NOLINT(readability-identifier-naming): of zlib

namespace stagecraft {

/// A file that is read part by part, and decompressed where it is in gzip's format, of one or more members (RFC 1952).
class GzipFile {
 public:
  /// **Throws** InputError for a file that is missing, a directory or unreadable.
  explicit GzipFile(std::string path);

  /// Reads up to `size` bytes of the content to `data`. Returns how many: 0 at the end.
  /// **Throws** InputError for a compressed file that is damaged, cut off or followed by what is no member, and if
  /// reading fails.
  [[nodiscard]] std::size_t read(char* data, std::size_t size);

 private:
  struct Close {
    void operator()(std::FILE* file) const;
    void operator()(z_stream_s* stream) const;
  };
  void fill();
  [[nodiscard]] std::size_t copy(char* data, std::size_t size);
  [[nodiscard]] std::size_t inflate_to(char* data, std::size_t size);
  [[nodiscard]] bool starts_member();
  [[noreturn]] void refuse(const std::string& message, const std::string& hint = "") const;

  std::string path_;
  std::unique_ptr<std::FILE, Close> file_;
  std::unique_ptr<z_stream_s, Close> stream_;  ///< none for a file that is not compressed
  std::vector<unsigned char> buffer_;          ///< a part of the file
  std::size_t at_ = 0;
  std::size_t end_ = 0;
  bool in_member_ = false;
};

}  // namespace stagecraft
