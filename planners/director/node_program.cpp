#include "planners/director/node_program.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

namespace stagecraft::director {
namespace {

constexpr double kPrecision = 0.004;
constexpr double kUnreached = std::numeric_limits<double>::infinity();

/// The places where stages may begin and end. All are tried where that is quick; else of so many runs of layers with
/// about equal work the cuts that the fewest bytes cross.
std::vector<std::size_t> cuts_to_try(const NodeCosts& costs) {
  constexpr double kMostWork = 2e8;  // for one iteration time
  const StageCosts& layers = costs.layers();
  const auto devices = static_cast<double>(costs.devices());
  const double per_pair = devices * devices * static_cast<double>(costs.node_size() + 1);
  const auto most = static_cast<std::size_t>(std::max(std::sqrt(kMostWork / per_pair), devices));
  std::vector<std::size_t> cuts{0};
  const std::size_t end = layers.layers();
  const double all = layers.forward(0, end, 1, false);
  const auto run_of = [&](std::size_t at) {
    return end <= most ? static_cast<double>(at)
                       : std::floor(layers.forward(0, at, 1, false) / all * static_cast<double>(most));
  };
  for (std::size_t at = 1; at < end; ++at) {
    const bool begins_run = cuts.size() == 1 || run_of(at) > run_of(cuts.back());
    if (begins_run) {
      cuts.push_back(at);
    } else if (layers.cut_bytes(at) < layers.cut_bytes(cuts.back())) {
      cuts.back() = at;
    }
  }
  cuts.push_back(end);
  return cuts;
}

/// The best path to a state.
struct Reached {
  double latency = kUnreached;  ///< g
  double forward = 0.0;         ///< of a microbatch through the stages so far
  std::size_t from = 0;         ///< the state before
  NodeStage last;
};

/// The program for one iteration time.
class TimedProgram {
 public:
  TimedProgram(const NodeCosts& costs, const std::vector<std::size_t>& cuts, const Prices& prices, Sharing sharing,
               double time)
      : costs_(costs),
        cuts_(cuts),
        prices_(prices),
        sharing_(sharing),
        time_(time),
        last_(cuts.size() - 1),
        segments_(costs.node_size() + 1),
        states_(cuts.size() * (costs.devices() + 1) * segments_) {}

  /// The stages of the least latency; empty if T is too short.
  std::vector<NodeStage> run() {
    states_[at(0, 0, 0)].latency = 0.0;
    for (std::size_t begin = 0; begin < last_; ++begin) {
      const std::vector<Form> forms = forms_from(begin);
      for (std::size_t used = 0; used < costs_.devices(); ++used) {
        for (std::size_t segment = 0; segment < segments_; ++segment) {
          if (states_[at(begin, used, segment)].latency < kUnreached) extend(begin, used, segment, forms);
        }
      }
    }
    return stages();
  }

 private:
  /// The state after the layers before a cut.
  [[nodiscard]] std::size_t at(std::size_t cut, std::size_t used, std::size_t segment) const {
    return (cut * (costs_.devices() + 1) + used) * segments_ + segment;
  }

  /// Stages of some form that begin at one cut, and what they cost: the same for all states there.
  struct Form {
    NodeStage stage;                       ///< without end; `Begins` may join, too
    std::vector<NodeCosts::Stage> by_end;  ///< from the next cut on, up to the last one that may be short enough
  };

  [[nodiscard]] std::vector<Form> forms_from(std::size_t begin) const {
    std::vector<Form> forms;
    const auto add = [&](std::size_t replicas, bool divides, NodeStage::Place place) {
      const bool is_spread = place == NodeStage::Place::Spread;
      Form form{{cuts_[begin], 0, replicas, divides, place}, {}};
      for (std::size_t end = begin + 1; end <= last_ && costs_.fits(cuts_[begin], cuts_[end], replicas); ++end) {
        form.by_end.push_back(costs_.stage(cuts_[begin], cuts_[end], replicas, divides, is_spread, prices_));
        if (form.by_end.back().load > time_) break;  // with more layers it computes longer
      }
      forms.push_back(std::move(form));
    };
    for (std::size_t replicas = 1; replicas <= costs_.devices(); ++replicas) {
      for (const bool divides : {false, true}) {
        if (!allows(replicas, divides)) continue;
        if (replicas <= costs_.node_size()) add(replicas, divides, NodeStage::Place::Begins);
        if (replicas > 1 && costs_.nodes().size() > 1) add(replicas, divides, NodeStage::Place::Spread);
      }
    }
    return forms;
  }

  [[nodiscard]] bool allows(std::size_t replicas, bool divides) const {
    if (replicas == 1) return !divides;
    if (divides) return sharing_ != Sharing::Whole && replicas <= costs_.layers().most_parts();
    return sharing_ != Sharing::Divided;
  }

  void extend(std::size_t begin, std::size_t used, std::size_t segment, const std::vector<Form>& forms) {
    for (const Form& form : forms) {
      const std::size_t replicas = form.stage.replicas;
      if (used + replicas > costs_.devices()) return;
      const bool is_spread = form.stage.place == NodeStage::Place::Spread;
      extend(begin, used, segment, form, form.stage, is_spread ? 0 : replicas);
      if (is_spread || segment == 0 || segment + replicas > costs_.node_size()) continue;
      NodeStage joining = form.stage;
      joining.place = NodeStage::Place::Joins;
      extend(begin, used, segment, form, joining, segment + replicas);
    }
  }

  /// Tries all stages of this form. `next`: the devices of the segment after them.
  void extend(std::size_t begin, std::size_t used, std::size_t segment, const Form& form, NodeStage stage,
              std::size_t next) {
    const std::size_t from = at(begin, used, segment);
    const Reached before = states_[from];
    const double cut = begin == 0 ? 0.0 : crossing_part(before.last, segment, stage);
    const double bytes = costs_.layers().cut_bytes(cuts_[begin]);
    const auto microbatches = static_cast<double>(costs_.layers().microbatches());
    if (before.forward + prices_.card * microbatches * bytes * cut * costs_.card() > time_) return;
    const double transfer = begin == 0 ? 0.0 : bytes * (cut > 0.0 ? costs_.card() : costs_.inside());
    const double latency = before.latency + 2.0 * transfer;
    for (std::size_t i = 0; i < form.by_end.size(); ++i) {
      const NodeCosts::Stage& cost = form.by_end[i];
      if (latency + cost.load > time_) return;
      if (latency + cost.load + cost.flush > time_) continue;
      const std::size_t end = begin + 1 + i;
      Reached& reached = states_[at(end, used + stage.replicas, next)];
      if (latency + cost.pass >= reached.latency) continue;
      stage.end = cuts_[end];
      reached = {latency + cost.pass, before.forward + transfer + cost.forward, from, stage};
    }
  }

  /// The part of what crosses the cut before the stage that passes the card of one node.
  [[nodiscard]] double crossing_part(const NodeStage& last, std::size_t segment, const NodeStage& stage) const {
    const auto size = static_cast<double>(costs_.node_size());
    const bool is_spread = stage.place == NodeStage::Place::Spread;
    if (stage.place == NodeStage::Place::Joins) return 0.0;
    if (segment > 0 && !is_spread) return costs_.nodes().size() > 1 ? 1.0 : 0.0;
    if (segment == 0 && is_spread) {  // both are on several nodes, whose cards share what crosses
      const auto wide = static_cast<double>(std::min(last.replicas, stage.replicas));
      const double spans = std::min(static_cast<double>(costs_.nodes().size()), std::max(2.0, wide / size));
      return (1.0 - 1.0 / spans) / spans;
    }
    // One is in a node, whose other devices may have some replicas of the spread one.
    const auto replicas = static_cast<double>(is_spread ? stage.replicas : last.replicas);
    const double beside = size - static_cast<double>(is_spread ? segment : stage.replicas);
    return std::max(0.0, (replicas - beside) / replicas);
  }

  [[nodiscard]] std::vector<NodeStage> stages() const {
    std::size_t best = 0;
    double least = kUnreached;
    for (std::size_t state = at(last_, 0, 0); state < states_.size(); ++state) {
      if (states_[state].latency >= least) continue;
      least = states_[state].latency;
      best = state;
    }
    std::vector<NodeStage> stages;
    if (least == kUnreached) return stages;
    for (std::size_t state = best; state != at(0, 0, 0); state = states_[state].from) {
      stages.push_back(states_[state].last);
    }
    std::ranges::reverse(stages);
    return stages;
  }

  const NodeCosts& costs_;
  const std::vector<std::size_t>& cuts_;
  const Prices& prices_;
  Sharing sharing_;
  double time_;
  std::size_t last_;  ///< of the cuts: the end
  std::size_t segments_;
  std::vector<Reached> states_;
};

}  // namespace

std::vector<NodeStage> best_node_stages(const NodeCosts& costs, const Prices& prices, Sharing sharing, Seconds most) {
  double high = most.value();
  double low = high / 16.0;
  const std::vector<std::size_t> cuts = cuts_to_try(costs);
  std::vector<NodeStage> best = TimedProgram(costs, cuts, prices, sharing, high).run();
  if (best.empty()) return best;
  while (high > low * (1.0 + kPrecision)) {
    const double middle = (low + high) / 2.0;
    std::vector<NodeStage> found = TimedProgram(costs, cuts, prices, sharing, middle).run();
    if (found.empty()) {
      low = middle;
    } else {
      high = middle;
      best = std::move(found);
    }
  }
  return best;
}

}  // namespace stagecraft::director
