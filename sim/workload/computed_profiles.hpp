#pragma once

#include "sim/model/layer_graph.hpp"
#include "sim/model/profile_source.hpp"
#include "sim/workload/architecture.hpp"
#include "sim/workload/device.hpp"

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace stagecraft {

/// What the cost model gives for one network, or for a member of a group that divides it, at any size and on every
/// device kind of the catalogue and of `own`, which come first, each in the precision of its description, or on those
/// that have `precision` in that one.
class ComputedProfiles final : public ProfileSource {
 public:
  /// **Throws** InputError as `member_of`.
  ComputedProfiles(Architecture architecture, Granularity granularity, std::optional<Precision> precision,
                   const Degrees& degrees = {}, std::vector<DeviceDescription> own = {});

  [[nodiscard]] bool has(const std::string& kind) const override { return devices_.contains(kind); }
  [[nodiscard]] Origin origin(const std::string& /*kind*/, std::int64_t /*samples*/) const override {
    return Origin::Computed;
  }

  [[nodiscard]] const std::optional<NetworkSizes>& sizes() const { return architecture_.sizes; }

  /// The kind as its times are computed. **Requires** that `has` knows it.
  [[nodiscard]] const DeviceDescription& device(const std::string& kind) const { return devices_.at(kind); }

  [[nodiscard]] std::shared_ptr<const ProfileSource> sharded(const Degrees& degrees) const override;

 private:
  [[nodiscard]] LayerGraph make_profile(const std::string& kind, std::int64_t samples) const override;

  Architecture architecture_;
  Granularity granularity_;
  std::optional<Precision> precision_;
  Degrees degrees_;
  std::vector<DeviceDescription> own_;
  using Member = std::shared_ptr<const ComputedProfiles>;
  mutable std::vector<std::pair<Degrees, Member>> members_;  ///< that have been asked for
  std::map<std::string, DeviceDescription> devices_;
};

/// The model that `recipe` describes, with its profile on `device` at `samples`; none if a catalogue lacks a name that
/// is not one of `own` devices either. With `degrees` its profiles are those of one member of such a group.
/// **Throws** InputError as `build_model`, for an image or a sequence that the network cannot bear, and for a precision
/// that the device lacks.
[[nodiscard]] std::optional<Model> computed_model(const Recipe& recipe, const std::string& device, std::int64_t samples,
                                                  const Degrees& degrees = {},
                                                  const std::vector<DeviceDescription>& own = {});

/// The sizes of the network of the model; none of a model with figures alone, and of a network of another form.
[[nodiscard]] std::optional<NetworkSizes> network_sizes(const Model& model);

}  // namespace stagecraft
