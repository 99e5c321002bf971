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
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

namespace stagecraft {
namespace {

using Say = std::function<void(const std::string&)>;

/// Whether a profile is extrapolated to that size, for a kind of device that the model knows and the platform has.
bool is_extrapolated(const ProfileSource& source, const Inputs& inputs, std::int64_t size) {
  const auto extrapolates = [&](const std::string& kind) {
    return source.has(kind) && source.origin(kind, size) == Origin::Extrapolated;
  };
  const auto& kinds = inputs.platform.spec.device_kinds;
  return extrapolates(inputs.model.profiles.front().device_kind) ||
         std::ranges::any_of(kinds, extrapolates, &DeviceKind::name);
}

/// Of the known sizes those to begin with.
std::vector<std::int64_t> first_sizes(const Inputs& inputs, const std::vector<std::int64_t>& known) {
  std::vector<std::int64_t> sizes;
  std::int64_t least = 1;
  for (const std::int64_t size : known) {
    const bool is_next = size >= least;
    if (is_next) least = 2 * size;
    const bool is_given = std::ranges::any_of(inputs.model.profiles,
                                              [&](const LayerGraph& graph) { return graph.microbatch_size == size; });
    if (is_next || is_given) sizes.push_back(size);
  }
  return sizes;
}

/// Asks for sizes until all of them, or as many as are worth the wait, were asked for.
class FastestSize {
 public:
  FastestSize(SizeTries& tries, std::vector<std::int64_t> sizes) : tries_(tries), sizes_(std::move(sizes)) {}

  /// Increasing sizes, until two in a row are too large for memory.
  void try_increasing(const std::vector<std::int64_t>& some, Activity& activity) {
    std::size_t lacking = 0;
    for (std::size_t i = 0; i < some.size() && lacking < kLackingOnes && !has_asked_enough(); ++i) {
      activity.count(i, some.size(), "sizes");
      lacking = ask(some[i]) || !tries_.best() ? 0 : lacking + 1;
      if (lacking == kLackingOnes) std::erase_if(sizes_, [&](std::int64_t size) { return size > some[i]; });
    }
  }

  /// The others, those next to the fastest one first.
  void try_others(Activity& activity) {
    while (!has_asked_enough()) {
      const std::optional<std::int64_t> next = untried_next_to(tries_.best());
      if (!next) return;
      activity.count(tries_.tried().size(), sizes_.size(), "sizes");
      ask(*next);
    }
  }

 private:
  static constexpr std::size_t kLackingOnes = 2;
  static constexpr std::size_t kMostTried = 32;

  bool ask(std::int64_t size) {
    const SizeAnswer answer = tries_.ask(size);
    work_ += answer.work;
    return answer.fits;
  }

  [[nodiscard]] bool has_asked_enough() const {
    return work_ > run_limits::kMostSearchWork || tries_.tried().size() >= kMostTried;
  }

  /// The untried size with the fewest others between it and `best`; of two the smaller one.
  [[nodiscard]] std::optional<std::int64_t> untried_next_to(std::optional<std::int64_t> best) const {
    const auto middle = best ? std::ranges::find(sizes_, *best) - sizes_.begin() : 0;
    std::optional<std::int64_t> nearest;
    std::ptrdiff_t least = std::ssize(sizes_);
    for (std::ptrdiff_t i = 0; i < std::ssize(sizes_); ++i) {
      const std::int64_t size = sizes_[static_cast<std::size_t>(i)];
      if (tries_.tried().contains(size) || std::abs(i - middle) >= least) continue;
      least = std::abs(i - middle);
      nearest = size;
    }
    return nearest;
  }

  SizeTries& tries_;
  std::vector<std::int64_t> sizes_;  ///< increasing
  double work_ = 0.0;
};

SizeTries::Verdict judge_speed(const Planning& planning, const Inputs& inputs, const PlanningChoices& choices) {
  const Report report = evaluate_planning(planning, inputs.platform, choices.run_length);
  if (!report.out_of_memory()) return {.lacking = {}, .merit = compared_throughput(planning, report)};
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
  const Clock::time_point start = Clock::now();
  const std::vector<std::int64_t> known = known_sizes(inputs, choices, say);
  Activity activity("looking for the fastest microbatch size");
  SizeTries tries(planner, inputs, choices,
                  [&](const Planning& planning) { return judge_speed(planning, inputs, choices); });
  FastestSize search(tries, known);
  search.try_increasing(first_sizes(inputs, known), activity);
  search.try_others(activity);
  const std::optional<std::int64_t> best = tries.best();
  Planning planning = best ? tries.take_best(say) : tries.explain_none(say);
  planning.time = Seconds(std::chrono::duration<double>(Clock::now() - start).count());
  const bool is_replayed = planning.planned() != nullptr && planning.planned()->is_replayed;
  say(fmt::format("note: {}: {}; tried: {}", planner.name,
                  best ? "microbatches of " + counted(*best, "sample") + " are the fastest " +
                             (is_replayed ? "in the replay" : "without contention")
                       : std::string("no microbatch size fits"),
                  tried_text(tries)));
  return planning;
}

}  // namespace

std::vector<std::int64_t> known_sizes(const Inputs& inputs, const PlanningChoices& choices, const Say& say) {
  check_size_choice(choices);
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

Planning plan_at_chosen_size(const PlannerInfo& planner, const Inputs& inputs, const PlanningChoices& choices,
                             const Say& say) {
  return choices.fastest_size ? plan_at_fastest_size(planner, inputs, choices, say)
                              : make_plan(planner, inputs, choices, say);
}

}  // namespace stagecraft
