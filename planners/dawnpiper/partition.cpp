#include "planners/dawnpiper/partition.hpp"

#include "planners/dawnpiper/memory_choice.hpp"
#include "planners/shared/savings/exact_savings.hpp"
#include "planners/shared/savings/least_saving.hpp"
#include "planners/shared/savings/segment_rules.hpp"

#include <algorithm>
#include <utility>

namespace stagecraft::dawnpiper {
namespace {

constexpr std::size_t kWidening = 2;  ///< cuts on either side, where none of an interval fits

template <class Value>
Value range(const std::vector<Value>& sums, std::size_t begin, std::size_t end) {
  return sums[end] - sums[begin];
}

}  // namespace

std::size_t PartitionSearch::PartHash::operator()(const Part& part) const {
  constexpr std::uint64_t kMix = 0x9E3779B97F4A7C15ULL;
  std::uint64_t hash = part.begin;
  for (const std::size_t each : {part.end, part.first, part.last}) hash = (hash ^ (hash >> 29)) * kMix + each;
  return hash * kMix >> 16;
}

PartitionSearch::PartitionSearch(PartitionProblem problem, const PartitionSettings& settings)
    : problem_(std::move(problem)), settings_(settings), speeds_{0.0}, in_flight_{0}, copies_{0.0} {
  for (const PartitionPlace& place : problem_.places) {
    speeds_.push_back(speeds_.back() + 1.0 / place.factor);
    in_flight_.push_back(in_flight_.back() + place.in_flight);
    copies_.push_back(copies_.back() + place.copies);
  }
  reach_.resize(problem_.places.size());
}

std::optional<Partition> PartitionSearch::run(std::size_t first, std::size_t last, std::size_t begin, std::size_t end) {
  const Part whole{first, last, begin, end};
  if (!may_fit(whole) || solve(whole, kNever) != Result::Faster) return std::nullopt;
  Partition result{known_.at(whole).time, {begin}, {}};
  collect(whole, result);
  return result;
}

PartitionSearch::Result PartitionSearch::solve(const Part& part, Seconds limit) {
  const auto [found, is_new] = known_.try_emplace(part);
  Known& known = found->second;  // stays where it is when others are added
  if (!known.is_exact && (is_new || known.time < limit)) {
    return part.stages() == 1 ? solve_stage(part, limit, known) : solve_cuts(part, limit, known, is_new);
  }
  if (known.is_exact && known.time == kNever) return Result::DoesNotFit;
  return known.time < limit ? Result::Faster : Result::NotFaster;
}

PartitionSearch::Result PartitionSearch::solve_stage(const Part& part, Seconds limit, Known& known) {
  const Seconds waited = waits(part);
  known.time = range(problem_.compute, part.begin, part.end) * problem_.places[part.first].factor + waited;
  if (known.time >= limit) return Result::NotFaster;
  ++counts_.leaf_calls;
  const ExactSavings chosen = choose(part);
  if (!chosen.is_exact) ++counts_.inexact_leaves;
  known.is_exact = true;
  known.time = chosen.saving ? chosen.saving->time + waited : kNever;
  if (!chosen.saving) return Result::DoesNotFit;
  return known.time < limit ? Result::Faster : Result::NotFaster;
}

/// A part that is left with no plan below `limit` is known to take at least that, unless it is sure that it does not
/// fit.
PartitionSearch::Result PartitionSearch::solve_cuts(const Part& part, Seconds limit, Known& known, bool is_new) {
  const Cuts cuts = cuts_of(part);
  const std::size_t count = cuts.bounds.size();
  counts_.work += static_cast<double>(count);
  if (is_new) {
    counts_.interval_cuts += static_cast<double>(cuts.interval.size());
    counts_.all_cuts += static_cast<double>(count);
  }
  Best best{limit, 0, false};
  bool is_open = false;  // whether some cut that was tried or left may fit
  Interval wanted = cuts.interval;
  std::vector<std::size_t> positions = by_bound(cuts, wanted, {});
  while (true) {
    if (try_cuts(part, cuts, positions, best)) is_open = true;
    const bool is_in_margin = best.is_found && lies_in_margin(best.cut - cuts.first, wanted, count);
    if (!is_in_margin && (best.is_found || is_open || wanted.size() == count)) break;
    const Interval tried = std::exchange(wanted, widened(wanted, is_in_margin ? settings_.margin : kWidening, count));
    positions = by_bound(cuts, wanted, tried);
    ++counts_.widenings;
  }
  known = {best.is_found || is_open ? best.time : kNever, best.is_found || !is_open, best.cut};
  if (best.is_found) return Result::Faster;
  return is_open ? Result::NotFaster : Result::DoesNotFit;
}

/// Whether the interval may end too early: the best cut is in the margin at one of its ends, and there are more cuts.
bool PartitionSearch::lies_in_margin(std::size_t position, const Interval& interval, std::size_t count) const {
  const bool is_at_first = position < interval.first + settings_.margin;
  const bool is_at_last = position + settings_.margin > interval.last;
  return (is_at_first && interval.first > 0) || (is_at_last && interval.last + 1 < count);
}

/// The positions of the interval that are not in `tried`, by increasing bound; of equal ones the first comes first.
std::vector<std::size_t> PartitionSearch::by_bound(const Cuts& cuts, const Interval& interval,
                                                   const std::optional<Interval>& tried) {
  std::vector<std::size_t> positions;
  for (std::size_t at = interval.first; at <= interval.last; ++at) {
    if (!tried || at < tried->first || at > tried->last) positions.push_back(at);
  }
  std::ranges::stable_sort(positions, {}, [&](std::size_t at) { return cuts.bounds[at]; });
  return positions;
}

/// Whether there has been enough work to be content with any plan, or even with none.
bool PartitionSearch::is_over(const Best& best) const {
  return counts_.work > (best.time == kNever ? 2.0 : 1.0) * settings_.max_work;
}

/// Tries the cuts at these positions; false if it is sure that none fits.
bool PartitionSearch::try_cuts(const Part& part, const Cuts& cuts, const std::vector<std::size_t>& positions,
                               Best& best) {
  bool is_open = false;
  for (const std::size_t at : positions) {
    if (Seconds(cuts.bounds[at]) >= best.time) return true;
    if (is_over(best)) {
      counts_.ended_early = true;
      return true;
    }
    if (try_cut(part, cuts.first + at, best) != Result::DoesNotFit) is_open = true;
  }
  return is_open;
}

PartitionSearch::Result PartitionSearch::try_cut(const Part& part, std::size_t cut, Best& best) {
  const Part before = part.before(cut);
  const Part behind = part.behind(cut);
  if (!may_fit(before) || !may_fit(behind)) return Result::DoesNotFit;
  ++counts_.cuts_tried;
  for (const Part& half : {before, behind}) {
    const Result result = solve(half, best.time);
    if (result != Result::Faster) return result;
  }
  const Seconds halves = std::max(known_.at(before).time, known_.at(behind).time);
  best = {std::max(halves, transfer(cut, part.middle())), cut, true};
  return Result::Faster;
}

/// The interval is that of the theorem, and reaches to the cuts that are best with what crosses them.
PartitionSearch::Cuts PartitionSearch::cuts_of(const Part& part) const {
  const Part before{part.first, part.middle(), 0, 0};
  const Part behind{part.middle() + 1, part.last, 0, 0};
  Cuts cuts;
  cuts.first = part.begin + before.stages();
  std::vector<double> compute;
  std::vector<double> memory;
  for (std::size_t cut = cuts.first; cut + behind.stages() <= part.end; ++cut) {
    const Part left = part.before(cut);
    const Part right = part.behind(cut);
    const double even = std::max(even_time(left, waits(left)), even_time(right, waits(right)));
    cuts.bounds.push_back(std::max(even, transfer(cut, part.middle()).value()));
    compute.push_back(std::max(even_time(left, Seconds(0)), even_time(right, Seconds(0))));
    memory.push_back(std::max(even_memory(left), even_memory(right)));
  }
  const Interval theorem = theorem_interval(compute, memory);
  const Interval crossing = theorem_interval(cuts.bounds, memory);
  cuts.interval = {std::min(theorem.first, crossing.first), std::max(theorem.last, crossing.last)};
  cuts.interval = widened(cuts.interval, settings_.margin, cuts.bounds.size());
  return cuts;
}

Seconds PartitionSearch::transfer(std::size_t cut, std::size_t before) const {
  return problem_.transfer ? problem_.transfer(cut, before) : Seconds(0);
}

/// What the stages on either side of a cut wait for its tensors.
Seconds PartitionSearch::wait(std::size_t cut, std::size_t before) const {
  const bool has_one_more = problem_.places[before].in_flight == problem_.places[before + 1].in_flight + 1;
  return has_one_more ? transfer(cut, before) : Seconds(0);
}

/// What the stages at the ends of a part wait for tensors from outside.
Seconds PartitionSearch::waits(const Part& part) const {
  Seconds sum{0};
  if (part.first > 0) sum += wait(part.begin, part.first - 1);
  if (part.last + 1 < problem_.places.size()) sum += wait(part.end, part.last);
  return sum;
}

/// The time of a stage of the part if all took the same, together with what those at the ends wait for.
double PartitionSearch::even_time(const Part& part, Seconds waited) const {
  const double slowest = std::max(problem_.places[part.first].factor, problem_.places[part.last].factor);
  const double compute = range(problem_.compute, part.begin, part.end).value();
  return (compute + waited.value() / slowest) / range(speeds_, part.first, part.last + 1);
}

/// The memory of a stage of the part if all had the same units, microbatches in flight and copies.
double PartitionSearch::even_memory(const Part& part) const {
  const auto stages = static_cast<double>(part.stages());
  const auto in_flight = static_cast<double>(range(in_flight_, part.first, part.last + 1));
  const double copies = range(copies_, part.first, part.last + 1);
  const auto stash = static_cast<double>(range(problem_.stash, part.begin, part.end).value());
  const auto parameters = static_cast<double>(problem_.parameters(part.begin, part.end).value());
  return (in_flight * stash + copies * parameters) / (stages * stages);
}

/// Without `exact` the choice counts as exact.
ExactSavings PartitionSearch::choose_for(const SavingStage& stage) {
  counts_.work += static_cast<double>(stage.units.size());
  std::optional<StageSaving> saving = by_rule_with_segments(stage, choose_memory);
  return settings_.exact ? exact_savings(stage, saving) : ExactSavings{std::move(saving)};
}

/// If units that are recomputed by themselves cost time, or are not enough, segments of coarser ones may do better.
ExactSavings PartitionSearch::choose(const Part& part) {
  ExactSavings best = choose_for(problem_.stage(part.first, part.begin, part.end));
  if (!problem_.coarse_stage || (best.saving && !recomputes(*best.saving))) return best;
  ExactSavings coarse = choose_for(problem_.coarse_stage(part.first, part.begin, part.end));
  best.is_exact = best.is_exact && coarse.is_exact;
  if (coarse.saving && (!best.saving || coarse.saving->time < best.saving->time)) {
    best.saving = problem_.refined(*std::move(coarse.saving), part.begin, part.end);
  }
  return best;
}

/// False if no stages of the part fit, even if each takes as many units as it can and may be empty.
bool PartitionSearch::may_fit(const Part& part) {
  std::size_t at = part.begin;
  for (std::size_t stage = part.first; stage <= part.last; ++stage) {
    const std::size_t next = std::min(reach(stage, at), part.end - (part.last - stage));
    at = std::max(at, next);  // a stage that cannot begin here ends here if it begins earlier
  }
  return at == part.end;
}

/// The last cut up to which the stage may fit if it begins there; found by bisection between those of the nearest
/// begins on either side.
std::size_t PartitionSearch::reach(std::size_t stage, std::size_t begin) {
  std::map<std::size_t, std::size_t>& known = reach_[stage];
  const auto next = known.lower_bound(begin);
  if (next != known.end() && next->first == begin) return next->second;
  std::size_t most = next == known.end() ? units() : next->second;
  std::size_t least = next == known.begin() ? begin : std::max(begin, std::prev(next)->second);
  for (std::size_t step = 1; least < most; step *= 2) {  // first away from the lower end, for long stages cost more
    const std::size_t end = std::min(most, least + step);
    if (!may_hold(stage, begin, end)) {
      most = end - 1;
      break;
    }
    least = end;
  }
  while (least < most) {
    const std::size_t middle = least + (most - least + 1) / 2;
    if (may_hold(stage, begin, middle)) {
      least = middle;
    } else {
      most = middle - 1;
    }
  }
  known.emplace_hint(next, begin, least);
  return least;
}

/// Whether the stage fits with its parameters, and with its units saved as well as possible. Buffers do not count, for
/// they may shrink when a stage grows.
bool PartitionSearch::may_hold(std::size_t stage, std::size_t begin, std::size_t end) {
  const auto fits = [&](SavingStage held) {
    const auto parameters = static_cast<double>(problem_.parameters(begin, end).value());
    held.budget.held = Bytes(static_cast<std::int64_t>(parameters * problem_.places[stage].copies));
    counts_.work += static_cast<double>(held.units.size());
    if (held.segments && saved_memory_bound(held) > held.budget.capacity) return false;
    if (held.segments && !settings_.exact && fits_divided(held)) return true;
    if (held.segments && !settings_.exact && settings_.is_hasty) return false;
    return least_saved_memory(held) <= held.budget.capacity;
  };
  if (fits(problem_.stage(stage, begin, end))) return true;
  return problem_.coarse_stage && fits(problem_.coarse_stage(stage, begin, end));
}

void PartitionSearch::collect(const Part& part, Partition& result) {
  if (part.stages() == 1) {
    result.cuts.push_back(part.end);
    result.savings.push_back(*choose(part).saving);
    return;
  }
  const std::size_t cut = known_.at(part).cut;
  collect(part.before(cut), result);
  collect(part.behind(cut), result);
}

}  // namespace stagecraft::dawnpiper
