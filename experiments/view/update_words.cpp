#include "experiments/view/update_words.hpp"

#include "sim/base/short_number.hpp"
#include "sim/base/text.hpp"
#include "sim/model/plan.hpp"
#include "sim/model/replicas.hpp"

#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

namespace stagecraft {
namespace {

/// `32`, or `32 to 480`.
std::string range_text(std::int64_t least, std::int64_t most) {
  return least == most ? std::to_string(most) : std::to_string(least) + " to " + std::to_string(most);
}

}  // namespace

std::string samples_text(const std::vector<StageUpdates>& updates) {
  return range_text(fewest_samples(updates), largest(updates).samples);
}

std::string updates_text(const std::vector<StageUpdates>& updates) {
  const auto [freshest, stalest] = std::ranges::minmax(updates, {}, &StageUpdates::staleness);
  const std::string staleness = range_text(freshest.staleness, stalest.staleness);
  const bool is_one = largest(updates).samples == 1;
  return "updates: " + samples_text(updates) + (is_one ? " sample" : " samples") +
         (staleness == "0" ? "" : ", staleness " + staleness) + "\n";
}

std::string drift_text(const Report& report) {
  constexpr double kNothing = 1e-6;
  if (!report.drift) return "the run is too short to compare two windows";
  if (std::abs(*report.drift) <= kLargestDrift && report.is_below_bound()) {
    return "a microbatch takes " + short_number(100.0 * (1.0 - *report.period / *report.bound)) +
           " % less in the measured part than it can in the long run, " + format_human_seconds(*report.bound) +
           ", so work piles up";
  }
  if (std::abs(*report.drift) < kNothing) return "a microbatch takes as long in both halves of the measured part";
  return "a microbatch takes " + short_number(100.0 * std::abs(*report.drift)) + " % " +
         (*report.drift < 0.0 ? "less" : "more") + " in the second half of the measured part than in the first";
}

std::string different_updates_text(const std::set<std::int64_t>& samples) {
  if (samples.size() < 2) return "";
  return "The rows update after " + range_text(*samples.begin(), *samples.rbegin()) +
         " samples, which is not the same training: --samples-per-update N makes most planners alike.";
}

std::optional<Bytes> exchanged_buckets(const Plan& plan) {
  const Replicas replicas(plan);
  const bool any = std::ranges::any_of(
      replicas.rings(), [&](const GradientRing& ring) { return in_ring(replicas, ring.members.size()) > 1; });
  return any ? std::optional(plan.training.bucket()) : std::nullopt;
}

namespace {

std::string bucket_words(Bytes size) {
  if (size == Bytes(0)) return "after the backward";
  if (size == Bytes(1)) return "layer by layer";  // where gradients are divided, without a size of the user's
  return "in buckets of " + format_human_bytes(size);
}

}  // namespace

std::string different_buckets_text(const std::map<Bytes, std::vector<std::string>>& planners) {
  if (planners.size() < 2) return "";
  std::string text = "Gradients are exchanged ";
  for (const auto& [size, names] : planners) {
    if (size != planners.begin()->first) text += " and ";
    text += bucket_words(size);
    text += fmt::format(" ({})", fmt::join(names, ", "));
  }
  return text + ": --training 'gradient_bucket=" + format_human_bytes(planners.rbegin()->first) +
         "' gives all rows the same.";
}

}  // namespace stagecraft
