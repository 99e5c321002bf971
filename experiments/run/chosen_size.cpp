#include "experiments/run/chosen_size.hpp"

#include "experiments/run/judge.hpp"
#include "experiments/run/limits.hpp"
#include "experiments/run/size_tries.hpp"
#include "sim/base/activity.hpp"
#include "sim/base/counted.hpp"
#include "sim/base/error.hpp"
#include "sim/base/short_number.hpp"
#include "sim/base/text.hpp"
#include "sim/model/profile_source.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

namespace stagecraft {
namespace {

using Say = std::function<void(const std::string&)>;

constexpr std::size_t kSlowerOnes = 2;  ///< sizes in a row after which no larger ones are tried

/// Whether a profile is extrapolated to that size, for a kind of device that the model knows and the platform has.
bool is_extrapolated(const ProfileSource& source, const Inputs& inputs, std::int64_t size) {
  const auto extrapolates = [&](const std::string& kind) {
    return source.has(kind) && source.origin(kind, size) == Origin::Extrapolated;
  };
  const auto& kinds = inputs.platform.spec.device_kinds;
  return extrapolates(inputs.model.profiles.front().device_kind) ||
         std::ranges::any_of(kinds, extrapolates, &DeviceKind::name);
}

/// The sizes that the choices allow and at which no times are extrapolated, increasing.
std::vector<std::int64_t> known_sizes(const Inputs& inputs, const PlanningChoices& choices, const Say& say) {
  const std::shared_ptr<const ProfileSource> source = profiles_of(inputs.model);
  std::vector<std::int64_t> sizes = sizes_to_choose(choices, run_limits::kMostSizes);
  const std::size_t left_out =
      std::erase_if(sizes, [&](std::int64_t size) { return is_extrapolated(*source, inputs, size); });
  if (left_out == 0) return sizes;
  const std::string profile = "the sizes of the profile of " + quote(inputs.model.profiles.front().name) + " (" +
                              profiled_sizes_text(inputs.model) + ")";
  if (sizes.empty()) {
    throw InputError(fmt::format("no microbatch size of which {} samples are a multiple lies within {}",
                                 choices.global_batch ? *choices.global_batch : *choices.samples_per_update, profile),
                     {}, "give the size, as a number: its times are then extrapolated");
  }
  say("note: microbatches outside " + profile + " are not tried, because their times would be extrapolated");
  return sizes;
}

/// Of the known sizes those to try.
std::vector<std::int64_t> sizes_to_try(const Inputs& inputs, const PlanningChoices& choices, const Say& say) {
  std::vector<std::int64_t> sizes;
  std::int64_t least = 1;
  for (const std::int64_t size : known_sizes(inputs, choices, say)) {
    const bool is_next = size >= least;
    if (is_next) least = 2 * size;
    const bool is_given = std::ranges::any_of(inputs.model.profiles,
                                              [&](const LayerGraph& graph) { return graph.microbatch_size == size; });
    if (is_next || is_given) sizes.push_back(size);
  }
  return sizes;
}

SizeTries::Verdict judge_speed(const Planning& planning, const Inputs& inputs, const PlanningChoices& choices) {
  const Report report = evaluate_planning(planning, inputs.platform, choices.run_length);
  if (!report.out_of_memory()) return {.lacking = {}, .merit = report.throughput};
  return {.lacking = Infeasible{memory_findings(report, inputs.platform).front().message, {}, {}, Bytes(0), ""},
          .merit = 0.0};
}

/// `1 (12.5 samples/s), 2 (18.1), 4 (does not fit)`.
std::string tried_text(const SizeTries& tries) {
  std::string text;
  const char* unit = " samples/s";
  for (const auto& [size, tried] : tries.tried()) {
    std::string outcome = "does not fit";
    if (tried.refusal) outcome = "refused";
    if (tried.lacking && tried.lacking->fewest_samples > size) outcome = "too small";
    if (tried.fits()) outcome = short_number(tried.merit) + std::exchange(unit, "");
    text += (text.empty() ? "" : ", ") + std::to_string(size) + " (" + outcome + ")";
  }
  return text;
}

Planning plan_at_fastest_size(const PlannerInfo& planner, const Inputs& inputs, const PlanningChoices& choices,
                              const Say& say) {
  using Clock = std::chrono::steady_clock;
  check_size_choice(choices);
  const Clock::time_point start = Clock::now();
  const std::vector<std::int64_t> sizes = sizes_to_try(inputs, choices, say);
  Activity activity("looking for the fastest microbatch size");
  SizeTries tries(planner, inputs, choices,
                  [&](const Planning& planning) { return judge_speed(planning, inputs, choices); });
  std::size_t slower = 0;
  for (std::size_t i = 0; i < sizes.size() && slower < kSlowerOnes; ++i) {
    activity.count(i, sizes.size(), "sizes");
    static_cast<void>(tries.ask(sizes[i]));
    slower = !tries.best() || tries.best() == sizes[i] ? 0 : slower + 1;
  }
  const std::optional<std::int64_t> best = tries.best();
  Planning planning = best ? tries.take_best(say) : tries.explain_none(say);
  planning.time = Seconds(std::chrono::duration<double>(Clock::now() - start).count());
  say(fmt::format("note: {}: {}; tried: {}", planner.name,
                  best ? "microbatches of " + counted(*best, "sample") + " are the fastest without contention"
                       : std::string("no microbatch size fits"),
                  tried_text(tries)));
  return planning;
}

}  // namespace

Planning plan_at_chosen_size(const PlannerInfo& planner, const Inputs& inputs, const PlanningChoices& choices,
                             const Say& say) {
  return choices.fastest_size ? plan_at_fastest_size(planner, inputs, choices, say)
                              : make_plan(planner, inputs, choices, say);
}

}  // namespace stagecraft
