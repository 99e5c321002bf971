#pragma once

#include "sim/base/index.hpp"
#include "sim/base/quantity.hpp"

#include <cstdint>
#include <string>

namespace stagecraft {

struct LayerGraph;

/// What a layer takes: the part of a profile that depends on the device and, not in proportion, on the samples.
struct LayerTimes {
  Seconds forward;
  Seconds backward;
  Seconds backward_weight;
  friend bool operator==(const LayerTimes&, const LayerTimes&) = default;
};

/// How the figures of a profile came about.
enum class Basis {
  Given,         ///< they stand in the model file for this size and kind of device
  Computed,      ///< by the cost model
  Interpolated,  ///< between two sizes of the file
  Extrapolated,  ///< beyond the sizes of the file
};

/// The profiles of one model: for several kinds of device, and for any number of samples.
class ProfileSource {
 public:
  ProfileSource() = default;
  ProfileSource(const ProfileSource&) = delete;
  ProfileSource& operator=(const ProfileSource&) = delete;
  virtual ~ProfileSource() = default;

  /// Whether there are figures of that kind.
  [[nodiscard]] virtual bool has(const std::string& kind) const = 0;
  /// **Requires** a kind that it has, and at least one sample.
  [[nodiscard]] virtual LayerGraph profile(const std::string& kind, std::int64_t samples) const = 0;
  /// The times of one layer of that profile.
  [[nodiscard]] virtual LayerTimes times(LayerId layer, const std::string& kind, std::int64_t samples) const = 0;
  [[nodiscard]] virtual Basis basis(const std::string& kind, std::int64_t samples) const = 0;
};

}  // namespace stagecraft
