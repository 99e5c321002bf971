#include "sim/workload/computed_profiles.hpp"

#include "sim/workload/build_model.hpp"
#include "sim/workload/catalogue.hpp"

#include <algorithm>
#include <memory>
#include <utility>

namespace stagecraft {

namespace {

/// None if the catalogue lacks the name, or the network takes no images or no sequences and the recipe has some.
std::optional<Architecture> plain_network_of(const Recipe& recipe) {
  if (!recipe.sequence && !recipe.image) return find_architecture(recipe.architecture);
  if (!recipe.sequence) return find_architecture(recipe.architecture, *recipe.image);
  if (recipe.image) return std::nullopt;
  return find_sequence_network(recipe.architecture, *recipe.sequence);
}

std::optional<Architecture> network_of(const Recipe& recipe) {
  std::optional<Architecture> network = plain_network_of(recipe);
  if (network && recipe.selective_recompute) network = with_selective_recompute(*std::move(network));
  return network;
}

}  // namespace

ComputedProfiles::ComputedProfiles(Architecture architecture, Granularity granularity,
                                   std::optional<Precision> precision, const Degrees& degrees,
                                   std::vector<DeviceDescription> own)
    : architecture_(std::move(architecture)),
      granularity_(granularity),
      precision_(precision),
      degrees_(degrees),
      own_(std::move(own)) {
  if (degrees_.devices() > 1) static_cast<void>(member_of(architecture_, degrees_));
  for (const WorkloadInfo& known : known_devices()) {
    DeviceDescription device = *find_device(known.name);
    if (precision && rate_in(device, *precision) <= FlopsPerSecond(0)) continue;
    if (precision) device = *find_device(known.name, *precision);
    devices_.emplace(known.name, std::move(device));
  }
  for (DeviceDescription device : own_) {
    if (precision) device.precision = *precision;
    devices_.erase(device.name);
    if (rate_in(device, device.precision) > FlopsPerSecond(0)) devices_.emplace(device.name, std::move(device));
  }
}

LayerGraph ComputedProfiles::make_profile(const std::string& kind, std::int64_t samples) const {
  return std::move(build_model(architecture_, devices_.at(kind), samples, granularity_, degrees_).profiles.front());
}

std::shared_ptr<const ProfileSource> ComputedProfiles::sharded(const Degrees& degrees) const {
  const auto known = std::ranges::find(members_, degrees, &std::pair<Degrees, Member>::first);
  if (known != members_.end()) return known->second;
  const auto member = std::make_shared<const ComputedProfiles>(architecture_, granularity_, precision_, degrees, own_);
  members_.emplace_back(degrees, member);
  return member;
}

std::optional<Model> computed_model(const Recipe& recipe, const std::string& device, std::int64_t samples,
                                    const Degrees& degrees, const std::vector<DeviceDescription>& own) {
  const std::optional<Granularity> granularity = granularity_of(recipe.granularity);
  std::optional<Architecture> architecture = network_of(recipe);
  if (!granularity || !architecture) return std::nullopt;
  const std::optional<DeviceDescription> described = find_device(device, own);
  if (!described) return std::nullopt;
  const std::optional<Precision> precision = recipe.precision ? precision_of(*recipe.precision) : std::nullopt;
  if (recipe.precision && !precision) return std::nullopt;
  if (precision) static_cast<void>(peak(*described, *precision));
  auto computed =
      std::make_shared<const ComputedProfiles>(std::move(*architecture), *granularity, precision, degrees, own);
  Model model{{computed->profile(device, samples)}, recipe, {}};
  model.computed = std::move(computed);
  return model;
}

std::optional<NetworkSizes> network_sizes(const Model& model) {
  const auto computed = std::dynamic_pointer_cast<const ComputedProfiles>(model.computed);
  return computed ? computed->sizes() : std::nullopt;
}

}  // namespace stagecraft
