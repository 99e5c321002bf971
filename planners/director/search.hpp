#pragma once

#include "planners/director/contest.hpp"
#include "planners/director/moves.hpp"
#include "planners/planner.hpp"

#include <cstddef>
#include <cstdint>
#include <set>
#include <vector>

namespace stagecraft::director {

/// A local search among drafts from the candidates of a contest on, to which it adds what it finds.
///
/// Idea: single moves stall where a boundary, devices and nodes have to change together, so a child is one to three
/// moves away from a parent, and parents are the eight best different plans, at most three of one origin. A child is
/// replayed only if its evaluated time comes near the best and, at first, says that it may beat its parent. Invariant:
/// what a search with a smaller limit of the judge has done is the beginning of one with a larger limit.
class Search {
 public:
  /// All must outlive it. **Requires** a candidate that was replayed. Those without a draft are not changed.
  Search(const PlanRequest& request, const MoveSpace& space, Contest& contest, const CountedJudge& judge,
         std::uint64_t seed);

  /// Until 1,200 rounds have found nothing better, and then 1,200 with children that may be slower than their parents;
  /// or until the judge's limit is reached. Then tries all neighbours of the best.
  void run();

 private:
  struct Before {
    bool operator()(const Draft& a, const Draft& b) const { return is_before(a, b); }
  };

  void add_parent(std::size_t candidate);
  [[nodiscard]] std::size_t draw_parent();
  [[nodiscard]] std::optional<Draft> child_of(const Draft& parent);
  bool round(bool accepts_slower);
  void polish();
  [[nodiscard]] std::optional<std::size_t> judge(const Draft& child, Seconds below, const std::string& origin);
  bool replay(std::size_t candidate);

  const PlanRequest& request_;
  const MoveSpace& space_;
  Contest& contest_;
  const CountedJudge& judge_;
  Random random_;
  std::set<Draft, Before> seen_;
  std::vector<std::size_t> parents_;  ///< candidates, the fastest first
};

}  // namespace stagecraft::director
