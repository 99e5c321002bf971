#include "sim/analytic/class_search.hpp"

#include <algorithm>
#include <array>
#include <iterator>
#include <set>

namespace stagecraft {
namespace {

/// Sums that differ by less are the same but for rounding.
constexpr double kRoundingOfTimes = 1e-12;

/// The least replicas of the classes of spread stages: those of which a node may have all but one, those that it may
/// have all of, and those that take two or three nodes.
std::vector<std::size_t> spread_classes(const ClassStages& stages) {
  const std::size_t in_node = stages.network().in_node;
  std::set<std::size_t> classes;
  if (stages.network().nodes > 1) classes = {2, 3, in_node + 1, 2 * in_node + 1};
  const auto is_possible = [&](std::size_t replicas) { return replicas >= 2 && replicas <= stages.devices(); };
  std::vector<std::size_t> possible;
  std::ranges::copy_if(classes, std::back_inserter(possible), is_possible);
  return possible;
}

}  // namespace

ClassSearch::ClassSearch(const ClassStages& stages, const ClassCuts& cuts, bool splits_backwards)
    : stages_(stages),
      cuts_(cuts),
      splits_backwards_(splits_backwards),
      in_node_(stages.network().in_node),
      spread_(spread_classes(stages)) {}

ClassSearch::Latency& ClassSearch::state(std::size_t layers, const Place& place) {
  const std::size_t devices = stages_.devices() + 1;
  return states_[((layers * devices + place.devices) * 2 + (place.divides ? 1 : 0)) * places() + place.at];
}

std::size_t ClassSearch::spread_at(std::size_t replicas) const {
  const auto above = std::ranges::upper_bound(spread_, replicas);
  return in_node_ + static_cast<std::size_t>(above - spread_.begin()) - 1;
}

ClassSearch::Answer ClassSearch::within(double time) {
  time_ = time * (1.0 + kRoundingOfTimes);
  next_ = std::numeric_limits<double>::infinity();
  found_ = false;
  const std::size_t layers = stages_.order().size();
  states_.assign(layers * (stages_.devices() + 1) * 2 * places(), {});
  extend_first();
  for (std::size_t done = 1; done < layers && !found_; ++done) extend_all(done);
  return {found_, next_};
}

void ClassSearch::extend_first() {
  for (std::size_t form = 0; form < stages_.forms().size(); ++form) {
    const std::size_t replicas = stages_.forms()[form].replicas;
    if (replicas <= in_node_) add(0, {}, {.form = form, .at = replicas - 1}, {0.0, 0.0});
    if (can_spread(replicas)) add(0, {}, {.form = form, .at = spread_at(replicas)}, {0.0, 0.0});
  }
}

/// States that have at least as many devices as another one, and are nowhere quicker, lead to nothing better.
void ClassSearch::extend_all(std::size_t layers) {
  std::array<std::vector<Latency>, 2> best;
  best.fill(std::vector<Latency>(places()));
  for (std::size_t devices = 1; devices < stages_.devices(); ++devices) {
    for (const bool divides : {false, true}) {
      std::vector<Latency>& known = best[divides ? 1 : 0];
      for (std::size_t at = 0; at < places(); ++at) {
        const Place place{devices, at, divides};
        const Latency own = state(layers, place);
        if (own.both >= known[at].both && own.forward >= known[at].forward) continue;
        if (own.both < known[at].both) known[at] = own;
        extend(layers, place, own);
        if (found_) return;
      }
    }
  }
}

void ClassSearch::extend(std::size_t layers, const Place& from, const Latency& so_far) {
  const std::vector<StageForm>& forms = stages_.forms();
  for (std::size_t form = 0; form < forms.size() && from.devices + forms[form].replicas <= stages_.devices(); ++form) {
    if (from.at < in_node_) {
      leave_segment(layers, from, form, so_far);
    } else {
      leave_spread(layers, from, form, so_far);
    }
    if (found_) return;
  }
}

void ClassSearch::leave_segment(std::size_t layers, const Place& from, std::size_t number, const Latency& so_far) {
  const StageForm& form = stages_.forms()[number];
  const std::size_t in_segment = from.at + 1;
  if (in_segment + form.replicas <= in_node_) {
    add(layers, from, {.form = number, .at = from.at + form.replicas}, so_far);
  }
  const StageForm before{in_segment, from.divides};
  if (stages_.network().nodes > 1 && form.replicas <= in_node_) {
    add(layers, from,
        {.form = number,
         .at = form.replicas - 1,
         .transfers = cuts_.transfers(layers, before, form),
         .there = cuts_.transfer(layers, before, form),
         .back = splits_backwards_ ? 0.0 : cuts_.transfer(layers, form, before)},
        so_far);
  }
  if (can_spread(form.replicas)) {
    const double transfers = cuts_.transfers_of_spread(layers, form, in_node_ - in_segment);
    add(layers, from, {.form = number, .at = spread_at(form.replicas), .transfers = transfers}, so_far);
  }
}

void ClassSearch::leave_spread(std::size_t layers, const Place& from, std::size_t number, const Latency& so_far) {
  const StageForm& form = stages_.forms()[number];
  if (form.replicas <= in_node_) {
    const StageForm before{spread_[from.at - in_node_], from.divides};
    const double transfers = cuts_.transfers_of_spread(layers, before, in_node_ - form.replicas);
    add(layers, from, {.form = number, .at = form.replicas - 1, .transfers = transfers}, so_far);
  }
  if (can_spread(form.replicas)) add(layers, from, {.form = number, .at = spread_at(form.replicas)}, so_far);
}

void ClassSearch::add(std::size_t layers, const Place& from, const Addition& stage, const Latency& so_far) {
  const StageForm& form = stages_.forms()[stage.form];
  const Place to{from.devices + form.replicas, stage.at, form.divides};
  std::size_t end = layers;
  for (const StageCosts& costs : stages_.of(layers, stage.form)) {
    ++end;
    const Latency before = at_begin(layers, end, stage, so_far);
    const double after = stage.at < in_node_ ? costs.inside : costs.spread;
    const double for_transfers = cuts_.waits(layers, end) ? so_far.both + stage.transfers : 0.0;
    if (exceeds(std::max(std::max(before.both, before.forward + after) + costs.busy, for_transfers))) return;
    if (end == stages_.order().size()) {
      found_ = true;
      return;
    }
    Latency& best = state(end, to);
    best.both = std::min(best.both, before.both + (splits_backwards_ ? costs.forward : costs.both));
    best.forward = std::min(best.forward, before.forward + costs.forward);
  }
}

/// What has passed when the stage begins its first microbatch, and what will pass after its last one.
ClassSearch::Latency ClassSearch::at_begin(std::size_t layers, std::size_t end, const Addition& stage,
                                           const Latency& so_far) const {
  const ChainLatency& chain = cuts_.chain(layers, end);
  Latency begin{splits_backwards_ ? chain.forward : chain.both, chain.forward};
  if (!cuts_.waits(layers, end)) return begin;
  begin.both = std::max(begin.both, so_far.both + stage.there + stage.back);
  begin.forward = std::max(begin.forward, so_far.forward + stage.there);
  return begin;
}

bool ClassSearch::exceeds(double needed) {
  if (needed <= time_) return false;
  next_ = std::min(next_, needed);
  return true;
}

}  // namespace stagecraft
