#include "planners/director/search.hpp"

#include <algorithm>
#include <utility>

namespace stagecraft::director {
namespace {

constexpr std::size_t kParents = 8;
constexpr std::ptrdiff_t kParentsOfOneOrigin = 3;
constexpr std::size_t kChildren = 20;
constexpr std::size_t kReplays = 4;  ///< of the children of a round
constexpr int kPatience = 1200;      ///< rounds without a gain
constexpr double kNearBest = 1.15;   ///< times the best: what is evaluated to be slower is not replayed

}  // namespace

Search::Search(const PlanRequest& request, const MoveSpace& space, Contest& contest, const CountedJudge& judge,
               std::uint64_t seed)
    : request_(request), space_(space), contest_(contest), judge_(judge), random_(seed) {
  for (std::size_t i = 0; i < contest.candidates().size(); ++i) {
    const Candidate& candidate = contest.candidates()[i];
    if (!candidate.draft) continue;
    seen_.insert(with_first_names(*candidate.draft, space.runs));
    add_parent(i);
  }
}

/// Keeps the fastest parents, of one origin at most three.
void Search::add_parent(std::size_t candidate) {
  const std::vector<Candidate>& all = contest_.candidates();
  const auto slower = std::ranges::upper_bound(parents_, all[candidate].time(), {},
                                               [&](std::size_t parent) { return all[parent].time(); });
  parents_.insert(slower, candidate);
  const auto is_kin = [&](std::size_t parent) { return all[parent].origin == all[candidate].origin; };
  if (std::ranges::count_if(parents_, is_kin) > kParentsOfOneOrigin) {
    const auto last = std::find_if(parents_.rbegin(), parents_.rend(), is_kin);
    parents_.erase(std::next(last).base());
  }
  if (parents_.size() > kParents) parents_.pop_back();
}

/// Each half as often as the one before it.
std::size_t Search::draw_parent() {
  std::size_t rank = 0;
  while (rank + 1 < parents_.size() && random_.below(2) == 0) ++rank;
  return parents_[rank];
}

std::optional<Draft> Search::child_of(const Draft& parent) {
  constexpr double kOneMove = 0.65;
  constexpr double kTwoMoves = 0.90;
  const double drawn = random_.part();
  const int moves = drawn < kOneMove ? 1 : drawn < kTwoMoves ? 2 : 3;
  std::optional<Draft> child = parent;
  for (int i = 0; i < moves && child; ++i) child = moved(*child, space_, random_);
  return child;
}

/// The candidate that the draft has become, if it was not judged before and may take less than `below`.
std::optional<std::size_t> Search::judge(const Draft& child, Seconds below, const std::string& origin) {
  const Draft draft = with_first_names(child, space_.runs);
  const auto load = [&](const Piece& piece) { return Seconds(space_.costs.load(piece)); };
  if (std::ranges::any_of(draft.pieces, [&](const Piece& piece) { return load(piece) >= below; })) return std::nullopt;
  if (!seen_.insert(draft).second) return std::nullopt;
  return add_draft(request_, contest_, draft, origin, below);
}

/// Replays a candidate, which may become a parent. Whether it is the best now.
bool Search::replay(std::size_t candidate) {
  const bool is_best = contest_.replay(candidate);
  const std::optional<Verdict>& found = contest_.candidates()[candidate].replayed;
  if (found && found->fits && found->time < kNever) add_parent(candidate);
  return is_best;
}

/// Whether a child is the best now.
bool Search::round(bool accepts_slower) {
  const Candidate parent = contest_.candidates()[draw_parent()];
  const Seconds near = contest_.time_to_beat() * kNearBest;
  const Seconds below = accepts_slower ? near : std::min(parent.time(), near);
  std::vector<std::size_t> children;
  for (std::size_t i = 0; i < kChildren && !judge_.is_spent(); ++i) {
    const std::optional<Draft> child = child_of(*parent.draft);
    if (!child) continue;
    if (const auto added = judge(*child, below, parent.origin)) children.push_back(*added);
  }
  std::ranges::stable_sort(children, {},
                           [&](std::size_t child) { return contest_.candidates()[child].evaluated.time; });
  bool has_gained = false;
  for (std::size_t i = 0; i < std::min(kReplays, children.size()) && !judge_.is_spent(); ++i) {
    has_gained = replay(children[i]) || has_gained;
  }
  return has_gained;
}

void Search::polish() {
  for (bool goes_on = true; goes_on && !judge_.is_spent();) {
    goes_on = false;
    const Candidate best = contest_.candidates()[*contest_.best()];
    if (!best.draft) return;
    for (const Draft& neighbour : neighbours(*best.draft, space_)) {
      if (judge_.is_spent()) return;
      const auto added = judge(neighbour, contest_.time_to_beat(), best.origin);
      if (added) goes_on = replay(*added) || goes_on;
    }
  }
}

void Search::run() {
  if (parents_.empty()) return;
  for (const bool accepts_slower : {false, true}) {
    for (int idle = 0; idle < kPatience && !judge_.is_spent(); ++idle) {
      if (round(accepts_slower)) idle = 0;
    }
  }
  polish();
}

}  // namespace stagecraft::director
