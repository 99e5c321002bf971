#pragma once

#include "sim/io/text_file.hpp"

#include <fmt/core.h>
#include <fmt/format.h>

#include <cstddef>
#include <iterator>
#include <string_view>

namespace stagecraft {

/// Formats a text and hands it on in parts of some 64 KiB.
class TextParts {
 public:
  /// `sink` must outlive this.
  explicit TextParts(const TextSink& sink) : sink_(sink) {}

  template <class... Values>
  void append(fmt::format_string<const Values&...> format, const Values&... values) {
    fmt::format_to(std::back_inserter(part_), format, values...);
    if (part_.size() >= kPart) finish();
  }
  void append_bytes(std::string_view bytes) {
    part_.append(bytes);
    if (part_.size() >= kPart) finish();
  }
  /// Hands on what is left.
  void finish() {
    sink_(std::string_view(part_.data(), part_.size()));
    part_.clear();
  }

 private:
  static constexpr std::size_t kPart = std::size_t{1} << 16;
  const TextSink& sink_;
  fmt::memory_buffer part_;
};

}  // namespace stagecraft
