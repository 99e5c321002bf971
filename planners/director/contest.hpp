#pragma once

#include "planners/director/counted_judge.hpp"
#include "planners/director/draft.hpp"
#include "planners/planner.hpp"

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

namespace stagecraft::director {

/// A plan that may be the answer.
struct Candidate {
  std::string origin;  ///< who made it
  Planned planned;
  std::optional<Draft> draft = std::nullopt;  ///< what the search changes; none: it cannot
  Verdict evaluated = {};
  std::optional<Verdict> replayed = std::nullopt;

  /// The replayed time, or else the evaluated one, which is no longer.
  [[nodiscard]] Seconds time() const { return replayed ? replayed->time : evaluated.time; }
};

/// Finds the plan that replays fastest, with as few replays as prove it.
///
/// Idea: no replay takes less than its evaluation, so plans are replayed in the order of their evaluated times, until
/// the next one takes no less than the best replay. Invariant: after `replay_in_order`, unless the judge's limit is
/// reached, no plan that fits is without a replay and faster than the best one.
class Contest {
 public:
  /// `judge` must outlive it.
  explicit Contest(CountedJudge& judge) : judge_(judge) {}

  /// Evaluates the plan. False if the judge's limit is reached, or the plan cannot run; it is left out then.
  bool add(Candidate candidate);
  /// Of those that are evaluated to fit, or of those that are not.
  void replay_in_order(bool that_fit = true);
  /// Replays one that is not replayed yet. Whether it is the best now.
  bool replay(std::size_t position);

  [[nodiscard]] const std::vector<Candidate>& candidates() const { return candidates_; }
  /// The one that replays fastest among those that fit, or, where none fits, among all; of equal ones the one that was
  /// replayed first.
  [[nodiscard]] std::optional<std::size_t> best() const { return best_; }
  /// Its replayed time; `kNever` if none that fits has been replayed.
  [[nodiscard]] Seconds time_to_beat() const;

 private:
  CountedJudge& judge_;
  std::vector<Candidate> candidates_;
  std::optional<std::size_t> best_;
};

/// Adds a draft's plan and, if it does not fit, the plan with the cheapest actions of the request's memory policy. The
/// candidate that fits and is evaluated to take less than `below`; none if there is none, or if it cannot run.
std::optional<std::size_t> add_draft(const PlanRequest& request, Contest& contest, const Draft& draft,
                                     const std::string& origin, Seconds below = kNever);

}  // namespace stagecraft::director
