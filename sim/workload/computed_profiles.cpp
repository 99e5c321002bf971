#include "sim/workload/computed_profiles.hpp"

#include "sim/workload/build_model.hpp"
#include "sim/workload/catalogue.hpp"

#include <memory>
#include <utility>

namespace stagecraft {

ComputedProfiles::ComputedProfiles(Architecture architecture, Granularity granularity)
    : architecture_(std::move(architecture)), granularity_(granularity) {
  for (const WorkloadInfo& known : known_devices()) devices_.emplace(known.name, *find_device(known.name));
}

LayerGraph ComputedProfiles::make_profile(const std::string& kind, std::int64_t samples) const {
  return std::move(build_model(architecture_, devices_.at(kind), samples, granularity_).profiles.front());
}

std::optional<Model> computed_model(const Recipe& recipe, const std::string& device, std::int64_t samples) {
  const std::optional<Granularity> granularity = granularity_of(recipe.granularity);
  std::optional<Architecture> architecture =
      recipe.image ? find_architecture(recipe.architecture, *recipe.image) : find_architecture(recipe.architecture);
  if (!granularity || !architecture || !find_device(device)) return std::nullopt;
  auto computed = std::make_shared<const ComputedProfiles>(std::move(*architecture), *granularity);
  Model model{{computed->profile(device, samples)}, recipe, {}};
  model.computed = std::move(computed);
  return model;
}

}  // namespace stagecraft
