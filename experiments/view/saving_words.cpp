#include "experiments/view/saving_words.hpp"

#include <fmt/core.h>

#include <cstdint>

namespace stagecraft {

const char* const kSavesLegend = "saves: 37r 2s stands for 37 layers recomputed and 2 whose stash is swapped";
const char* const kPolicyLegend =
    "^ chosen by the common memory policy, not by the planner; --memory keep: planners as published";

bool saves(const Plan& plan) { return layers_with<Recompute>(plan) + layers_with<Swap>(plan) > 0; }

std::string saving_text(const Planned& planned) {
  std::string text;
  if (const std::int64_t layers = layers_with<Recompute>(planned.plan); layers > 0) {
    text += std::to_string(layers) + "r";
  }
  if (const std::int64_t layers = layers_with<Swap>(planned.plan); layers > 0) {
    text += (text.empty() ? "" : " ") + std::to_string(layers) + "s";
  }
  if (text.empty()) return "-";
  return text + (planned.saved_by_policy ? " ^" : "");
}

Detail memory_by(const Planned& planned) {
  if (!saves(planned.plan)) return {};
  return planned.saved_by_policy ? "policy" : "planner";
}

std::string peak_text(const DeviceReport& device) {
  constexpr double kGiB = 1024.0 * 1024.0 * 1024.0;
  return fmt::format("{:.2f} GiB", static_cast<double>(device.memory.peak.value()) / kGiB);
}

}  // namespace stagecraft
