#pragma once

#include "sim/io/text_file.hpp"

#include <cstddef>
#include <string>

namespace stagecraft {

/// Hands a text on in parts of some 64 KiB.
class TextParts {
 public:
  /// `sink` must outlive this.
  explicit TextParts(const TextSink& sink) : sink_(sink) {}

  /// What is to be appended to. A part that is full is handed on before.
  std::string& part() {
    if (part_.size() >= kFull) finish();
    return part_;
  }
  /// Hands on what is left.
  void finish() {
    sink_(part_);
    part_.clear();
  }

 private:
  static constexpr std::size_t kFull = std::size_t{1} << 16;
  const TextSink& sink_;
  std::string part_;
};

}  // namespace stagecraft
