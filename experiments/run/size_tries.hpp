#pragma once

#include "experiments/run/inputs.hpp"
#include "experiments/run/planning.hpp"
#include "experiments/run/planning_choices.hpp"
#include "experiments/run/size_search.hpp"
#include "planners/planner.hpp"
#include "sim/base/error.hpp"

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace stagecraft {

/// A microbatch size for which the planner was asked.
struct SizeTry {
  std::int64_t size = 0;
  std::optional<Infeasible> lacking;  ///< why it does not fit: the planner's answer, or what its plan lacks
  std::optional<InputError> refusal;  ///< the request or the plan was refused
  double merit = 0.0;                 ///< of the plan, if it fits
  [[nodiscard]] bool fits() const { return !lacking && !refusal; }
};

/// Asks a planner for several microbatch sizes and keeps the best plan.
class SizeTries {
 public:
  /// What is found about a plan that breaks no rule.
  struct Verdict {
    std::optional<Infeasible> lacking;  ///< why it does not fit, if it does not
    double merit = 0.0;
  };
  using Judge = std::function<Verdict(const Planning&)>;
  using Say = std::function<void(const std::string&)>;

  /// The references must outlive it.
  SizeTries(const PlannerInfo& planner, const Inputs& inputs, const PlanningChoices& choices, Judge judge)
      : planner_(planner), inputs_(inputs), choices_(choices), judge_(std::move(judge)) {}

  /// **Throws** PlannerFailure and PlannerTimeout; other refusals are answers.
  SizeAnswer ask(std::int64_t size);

  [[nodiscard]] const std::map<std::int64_t, SizeTry>& tried() const { return tried_; }  ///< by size
  /// The size whose plan has the most merit, to a relative 1e-9 and else the first one asked for; none if none fits.
  [[nodiscard]] std::optional<std::int64_t> best() const;

  /// The best plan, with what its planner said of it. **Requires** a size that fits.
  [[nodiscard]] Planning take_best(const Say& say);
  /// If no size fits, the planner's explained answer for the smallest one: of those that are not refused and, if there
  /// is one, not too small.
  /// **Throws** the first refusal if all were refused.
  [[nodiscard]] Planning explain_none(const Say& say) const;

 private:
  const PlannerInfo& planner_;
  const Inputs& inputs_;
  const PlanningChoices& choices_;
  Judge judge_;
  std::map<std::int64_t, SizeTry> tried_;
  std::optional<InputError> first_refusal_;
  double best_merit_ = 0.0;
  std::optional<Planning> best_;
  std::vector<std::string> said_;  ///< while the best was planned
};

}  // namespace stagecraft
