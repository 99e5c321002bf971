#include "experiments/measured/measured_site.hpp"

#include "experiments/run/inputs.hpp"
#include "sim/base/error.hpp"
#include "sim/base/text.hpp"

#include <algorithm>
#include <filesystem>

namespace stagecraft {
namespace {

/// The path of a platform beside the table, or the name of one that is shipped or lies elsewhere.
std::string platform_of(const MeasuredStep& step, const SiteDefaults& defaults) {
  if (!step.platform && defaults.platform) return *defaults.platform;
  if (!step.platform) {
    throw InputError("--platform is required", {},
                     "the table has no column 'platform', or " + step.name + " leaves it open");
  }
  const auto beside = std::filesystem::path(step.place.file).parent_path() / *step.platform;
  if (std::filesystem::exists(beside)) return beside.string();
  try {
    static_cast<void>(find_input(*step.platform, InputKind::Platform, beside.parent_path().string()));
  } catch (const InputError& error) {
    InputPlace place = step.place;
    place.key = "platform";
    const bool names_file = !error.place().file.empty();
    throw InputError((names_file ? quote(*step.platform) + ": " : "") + error.message(), place, error.hint());
  }
  return *step.platform;
}

}  // namespace

std::vector<MeasuredSite> measured_sites(const std::vector<MeasuredStep>& steps, const SiteDefaults& defaults) {
  std::vector<MeasuredSite> sites;
  for (const MeasuredStep& step : steps) {
    const std::string platform = platform_of(step, defaults);
    const auto precision = step.precision ? step.precision : defaults.precision;
    auto site = std::ranges::find_if(
        sites, [&](const MeasuredSite& each) { return each.platform == platform && each.precision == precision; });
    if (site == sites.end()) site = sites.insert(sites.end(), {step.place.file, platform, precision, {}});
    site->steps.push_back(step);
  }
  return sites;
}

}  // namespace stagecraft
