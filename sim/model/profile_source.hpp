#pragma once

#include "sim/base/index.hpp"
#include "sim/base/quantity.hpp"
#include "sim/model/degrees.hpp"
#include "sim/model/origin.hpp"

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>

namespace stagecraft {

struct LayerGraph;

/// What a layer takes: the part of a profile that depends on the device and, not in proportion, on the samples.
struct LayerTimes {
  Seconds forward;
  Seconds backward;
  Seconds backward_weight;
  friend bool operator==(const LayerTimes&, const LayerTimes&) = default;
};

/// The profiles of one model: for several kinds of device, and for any number of samples.
class ProfileSource {
 public:
  ProfileSource() = default;
  ProfileSource(const ProfileSource&) = delete;
  ProfileSource& operator=(const ProfileSource&) = delete;
  virtual ~ProfileSource();

  /// Whether there are figures of that kind.
  [[nodiscard]] virtual bool has(const std::string& kind) const = 0;
  /// The profile, which lives as long as the source. It is made when it is asked for first.
  /// **Requires** a kind that it has, and at least one sample.
  [[nodiscard]] const LayerGraph& profile(const std::string& kind, std::int64_t samples) const;
  /// The times of one layer of that profile.
  [[nodiscard]] LayerTimes times(LayerId layer, const std::string& kind, std::int64_t samples) const;
  [[nodiscard]] virtual Origin origin(const std::string& kind, std::int64_t samples) const = 0;
  /// The profiles of one member of a group of these degrees, from the same network; none if only figures are known.
  /// **Throws** InputError for a network that cannot be divided so.
  [[nodiscard]] virtual std::shared_ptr<const ProfileSource> sharded(const Degrees& /*degrees*/) const {
    return nullptr;
  }

 private:
  [[nodiscard]] virtual LayerGraph make_profile(const std::string& kind, std::int64_t samples) const = 0;

  mutable std::map<std::pair<std::string, std::int64_t>, std::unique_ptr<const LayerGraph>> made_;
};

}  // namespace stagecraft
