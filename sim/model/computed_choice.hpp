#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace stagecraft {

/// What is chosen of a model whose figures are computed, where its file does not say it.
struct ComputedChoice {
  std::string architecture = {};  ///< a network that the program knows by name; empty: the model is a file
  std::string device = {};        ///< the kind for which it is computed first; empty: the first that the platform has
  std::optional<std::int64_t> sequence = {};  ///< tokens in a sample; none: the network's usual ones, or the file's
  std::optional<std::string> precision = {};  ///< none: that of the device's description, or the file's
  std::optional<std::string> granularity = {};
  std::optional<bool> selective_recompute = {};  ///< unfused attention; none: as in the file, or not

  [[nodiscard]] bool is_empty() const { return *this == ComputedChoice(); }
  friend bool operator==(const ComputedChoice&, const ComputedChoice&) = default;
};

}  // namespace stagecraft
