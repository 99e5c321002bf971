#include "planners/director/contest.hpp"

#include "planners/shared/savings/memory_policy.hpp"
#include "sim/base/error.hpp"

#include <algorithm>
#include <utility>
#include <variant>

namespace stagecraft::director {
namespace {

bool is_better(const Verdict& verdict, const Verdict& other) {
  if (verdict.fits != other.fits) return verdict.fits;
  return verdict.time < other.time;
}

}  // namespace

bool Contest::add(Candidate candidate) {
  const std::optional<Verdict> found = judge_.evaluate(candidate.planned.plan);
  if (!found || found->time == kNever) return false;
  candidate.evaluated = *found;
  candidates_.push_back(std::move(candidate));
  return true;
}

Seconds Contest::time_to_beat() const {
  if (!best_) return kNever;
  const Verdict& verdict = *candidates_[*best_].replayed;
  return verdict.fits ? verdict.time : kNever;
}

bool Contest::replay(std::size_t position) {
  Candidate& candidate = candidates_[position];
  candidate.replayed = judge_.replay(candidate.planned.plan);
  if (!candidate.replayed || candidate.replayed->time == kNever) return false;
  if (best_ && !is_better(*candidate.replayed, *candidates_[*best_].replayed)) return false;
  best_ = position;
  return true;
}

void Contest::replay_in_order(bool that_fit) {
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < candidates_.size(); ++i) {
    if (!candidates_[i].replayed && candidates_[i].evaluated.fits == that_fit) order.push_back(i);
  }
  std::ranges::stable_sort(order, {}, [&](std::size_t i) { return candidates_[i].evaluated.time; });
  for (const std::size_t i : order) {
    if (judge_.is_spent() || candidates_[i].evaluated.time >= time_to_beat()) return;
    replay(i);
  }
}

std::optional<std::size_t> add_draft(const PlanRequest& request, Contest& contest, const Draft& draft,
                                     const std::string& origin, Seconds below) {
  const auto last = [&] { return contest.candidates().size() - 1; };
  try {
    if (!contest.add({origin, planned_of(request, draft), draft})) return std::nullopt;
    const Candidate& plain = contest.candidates().back();
    if (plain.evaluated.time >= below) return std::nullopt;
    if (plain.evaluated.fits) return last();
    PlanResult saved = judged_with_savings(request, plain.planned);
    auto* planned = std::get_if<Planned>(&saved);
    if (planned == nullptr || !contest.add({origin, std::move(*planned), draft})) return std::nullopt;
  } catch (const InputError&) {  // the schedule refuses the stages
    return std::nullopt;
  }
  const Verdict& found = contest.candidates().back().evaluated;
  return found.fits && found.time < below ? std::optional(last()) : std::nullopt;
}

}  // namespace stagecraft::director
