#pragma once

#include "experiments/run/inputs.hpp"
#include "experiments/run/planning.hpp"
#include "experiments/run/planning_choices.hpp"
#include "experiments/run/settings.hpp"
#include "experiments/run/simulation.hpp"
#include "experiments/run/size_tries.hpp"
#include "planners/planner.hpp"
#include "sim/base/error.hpp"

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace stagecraft {

struct LargestSizeChoices {
  PlanningChoices planning;  ///< without a microbatch size
  std::optional<std::int64_t> most_tries;
  bool replays = false;  ///< whether a plan must stay within memory in the replay, too
  /// Called with each plan that fits, and its replay if `replays`. May be empty.
  std::function<void(const Planning&, const std::optional<Report>& replayed)> on_fit = {};
};

/// The largest microbatch size with which a planner finds a plan that fits.
struct LargestSize {
  /// At the size found, with the time that the whole search took. If there is none, the answer for the smallest size
  /// that is not refused, which is infeasible.
  Planning planning;
  std::optional<std::int64_t> size;
  std::vector<SizeTry> tried;  ///< by increasing size
  bool ended_early = false;    ///< the tries ended before all sizes were decided that the search wanted

  /// The smallest size above the one found that was tried; null if there is none.
  [[nodiscard]] const SizeTry* next() const;
};

/// Searches as `largest_size_from` does, from the smallest size of the model's profile on. A size fits if the planner
/// finds a plan, and the plan breaks no rule and fits in the memory ledger and in its evaluation (`judge_run`).
/// **Throws** InputError if every size that was tried is refused, and if an external planner fails.
[[nodiscard]] LargestSize find_largest_size(const PlannerInfo& planner, const Inputs& inputs,
                                            const LargestSizeChoices& choices,
                                            const std::function<void(const std::string&)>& say);

/// Whether a plan fits, as `find_largest_size` judges it. The arguments must outlive the result.
[[nodiscard]] SizeTries::Judge size_judge(const Inputs& inputs, const LargestSizeChoices& choices);

/// The run of a plan with the length that the choices give, from which answers about sizes have their figures.
/// **Requires** a plan.
[[nodiscard]] Report size_run(const Planning& planning, const Platform& platform, const LargestSizeChoices& choices,
                              EngineChoice engine, const Settings& settings = {});

/// A sentence if the search ended early: which sizes it left open; else empty.
[[nodiscard]] std::string open_sizes_text(const LargestSize& largest);

}  // namespace stagecraft
