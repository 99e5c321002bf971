#include "experiments/study/vary_keys.hpp"

#include "experiments/study/limits.hpp"
#include "sim/base/text.hpp"
#include "sim/io/yaml_values.hpp"

#include <algorithm>
#include <array>
#include <string_view>
#include <vector>

namespace stagecraft {
namespace {

struct VaryKey {
  std::string_view name;
  double Variation::* factor = nullptr;
  double most = study_limits::kMostFactor;
};

/// A collective cannot reach more than the bandwidth of its links.
constexpr std::array<VaryKey, 5> kVaryKeys = {{{"bandwidth", &Variation::bandwidth},
                                               {"network", &Variation::network},
                                               {"compute", &Variation::compute},
                                               {"collective_efficiency", &Variation::collective_efficiency, 1.0},
                                               {"latency", &Variation::latency}}};

constexpr std::string_view kPrefix = "vary.";

}  // namespace

void read_vary_key(const std::string& name, const YamlNode& node, Keys& into) {
  const auto* found = std::ranges::find(kVaryKeys, name, &VaryKey::name);
  if (found == kVaryKeys.end()) {
    std::vector<std::string> known;
    for (const VaryKey& each : kVaryKeys) known.emplace_back(each.name);
    node.fail("there is no key " + quote(name) + " of vary", suggest_name(name, known));
  }
  const double factor = read_number(node);
  if (factor < study_limits::kLeastFactor || factor > found->most) {
    node.fail_expected("a factor from " + format_number(study_limits::kLeastFactor) + " to " +
                       format_number(found->most));
  }
  set_key(into, std::string(kPrefix) + name, factor);
}

void read_vary(const YamlNode& node, Keys& into) {
  for (const auto& [name, value] : node.entries()) read_vary_key(name, value, into);
}

double* vary_factor(const std::string& name, Variation& of) {
  if (!name.starts_with(kPrefix)) return nullptr;
  const auto* found = std::ranges::find(kVaryKeys, std::string_view(name).substr(kPrefix.size()), &VaryKey::name);
  return found == kVaryKeys.end() ? nullptr : &(of.*(found->factor));
}

}  // namespace stagecraft
