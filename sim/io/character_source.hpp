#pragma once

#include "sim/base/error.hpp"

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

namespace stagecraft {

/// Writes up to `size` bytes of a content to `data`, those after the last ones. Returns how many: 0 at the end.
using ByteReader = std::function<std::size_t(char* data, std::size_t size)>;

/// The characters of a JSON file one after the other, with their place. It holds a part of the file at a time.
class CharacterSource {
 public:
  /// **Throws** what `read` throws.
  CharacterSource(std::string file_name, ByteReader read);

  [[nodiscard]] bool at_end() const { return at_ == end_; }
  [[nodiscard]] char current() const { return buffer_[at_]; }

  /// **Throws** what the reader throws, and InputError for a character 0, and where a text or a number is longer than
  /// 16 MiB, which a parser would hold as a whole.
  void advance() {
    count(buffer_[at_]);
    if (++at_ == end_) refill();
  }

  /// The place of the current character.
  [[nodiscard]] InputPlace place() const;

 private:
  void count(char c);
  void refill();

  std::string file_name_;
  ByteReader read_;
  std::vector<char> buffer_;
  std::size_t at_ = 0;
  std::size_t end_ = 0;
  int line_ = 1;
  std::size_t column_ = 1;
  std::size_t since_quote_ = 0;  ///< characters since a quotation mark that begins or ends a text
  bool is_escaped_ = false;      ///< by a backslash before it
};

}  // namespace stagecraft
