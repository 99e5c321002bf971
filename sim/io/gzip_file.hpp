#pragma once

#include <cstddef>
#include <memory>
#include <string>

struct gzFile_s;  // of zlib

namespace stagecraft {

/// A file that is read part by part, and decompressed where it is in gzip's format.
class GzipFile {
 public:
  /// **Throws** InputError for a file that is missing, a directory or unreadable.
  explicit GzipFile(std::string path);

  /// Reads up to `size` bytes of the content to `data`. Returns how many: 0 at the end.
  /// **Throws** InputError for a compressed file that is damaged or cut off, and if reading fails.
  [[nodiscard]] std::size_t read(char* data, std::size_t size);

 private:
  struct Close {
    void operator()(gzFile_s* file) const;
  };
  std::string path_;
  std::unique_ptr<gzFile_s, Close> file_;
};

}  // namespace stagecraft
