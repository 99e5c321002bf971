#pragma once

#include "planners/planner.hpp"

#include <cstdint>
#include <limits>
#include <optional>

namespace stagecraft::director {

/// A judge that counts what it runs, up to a limit. Whoever asks it stops for good at the first run that it refuses, so
/// a search with a larger limit begins with all of the one with the smaller limit.
class CountedJudge {
 public:
  explicit CountedJudge(const Judge& judge) : judge_(judge) {}

  /// From now on so many more runs.
  void limit(std::int64_t evaluations, std::int64_t replays) {
    most_evaluations_ = evaluations_ + evaluations;
    most_replays_ = replays_ + replays;
  }
  /// Whether a run has been refused.
  [[nodiscard]] bool is_spent() const { return is_spent_; }
  [[nodiscard]] std::int64_t evaluations() const { return evaluations_; }
  [[nodiscard]] std::int64_t replays() const { return replays_; }

  /// As of `Judge`; none if the limit is reached.
  std::optional<Verdict> evaluate(const Plan& plan) {
    return may_run(evaluations_, most_evaluations_) ? std::optional(judge_.evaluate(plan)) : std::nullopt;
  }
  std::optional<Verdict> replay(const Plan& plan) {
    return may_run(replays_, most_replays_) ? std::optional(judge_.replay(plan)) : std::nullopt;
  }

 private:
  bool may_run(std::int64_t& runs, std::int64_t most) {
    is_spent_ = is_spent_ || runs >= most;
    if (!is_spent_) ++runs;
    return !is_spent_;
  }

  const Judge& judge_;
  std::int64_t evaluations_ = 0;
  std::int64_t replays_ = 0;
  std::int64_t most_evaluations_ = std::numeric_limits<std::int64_t>::max();
  std::int64_t most_replays_ = std::numeric_limits<std::int64_t>::max();
  bool is_spent_ = false;
};

}  // namespace stagecraft::director
