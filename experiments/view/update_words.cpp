#include "experiments/view/update_words.hpp"

#include "experiments/view/table.hpp"

#include <algorithm>
#include <cmath>

namespace stagecraft {
namespace {

/// `32`, or `32 to 480`.
std::string range_text(std::int64_t least, std::int64_t most) {
  return least == most ? std::to_string(most) : std::to_string(least) + " to " + std::to_string(most);
}

}  // namespace

std::string updates_text(const std::vector<StageUpdates>& updates) {
  const auto [least, most] = std::ranges::minmax(updates, {}, &StageUpdates::samples);
  const auto [freshest, stalest] = std::ranges::minmax(updates, {}, &StageUpdates::staleness);
  const std::string staleness = range_text(freshest.staleness, stalest.staleness);
  const bool is_one = most.samples == 1;
  return "updates: " + range_text(least.samples, most.samples) + (is_one ? " sample" : " samples") +
         (staleness == "0" ? "" : ", staleness " + staleness) + "\n";
}

std::string drift_text(const Report& report) {
  constexpr double kNothing = 1e-6;
  if (!report.drift) return "the run is too short to compare two windows";
  if (std::abs(*report.drift) < kNothing) return "a microbatch takes as long in both halves of the measured part";
  return "a microbatch takes " + short_number(100.0 * std::abs(*report.drift)) + " % " +
         (*report.drift < 0.0 ? "less" : "more") + " in the second half of the measured part than in the first";
}

std::string different_updates_text(std::vector<std::int64_t> samples) {
  std::ranges::sort(samples);
  const auto repeated = std::ranges::unique(samples);
  samples.erase(repeated.begin(), repeated.end());
  if (samples.size() < 2) return "";
  return "Samples per update differ, from " + std::to_string(samples.front()) + " to " +
         std::to_string(samples.back()) + ": the rows do not train alike.\n";
}

}  // namespace stagecraft
