#include "planners/dapple/search.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <map>
#include <tuple>
#include <utility>

namespace stagecraft::dapple {
namespace {

/// Steps (of a nanosecond or two) that the search may take for each latency that it may compute.
constexpr double kStepsPerLatency = 1000.0;
/// Steps for placing a stage, per device of the platform.
constexpr double kStepsPerDevice = 16.0;
/// The most stages of a straight pipeline by which a prefix is judged.
constexpr std::size_t kMostStraight = 16;

/// A choice of devices for the next stage, and the devices that are left after it.
struct Move {
  DeviceSet set;
  Used used;
  std::size_t left = 0;
  DeviceSet rest;      // the devices of a single stage with all the layers left, if devices are left
  double speed = 0.0;  // between the next stage and that one
};

/// A partial plan: the stages of the first layers, with their devices.
struct Prefix {
  std::vector<PlacedStage> stages;
  std::vector<Block> blocks;
  const Move* last = nullptr;  // the move of its last stage; null for the empty prefix
  double value = 0.0;          // latency with the completion of its list
};

/// The prefixes of a state by increasing value, in one list for each completion: all the layers left form one stage, or
/// a straight pipeline.
using State = std::array<std::vector<Prefix>, 2>;

/// The positions where a stage may end, the end of the chain last: all of them if there are at most `most`; otherwise
/// the chain's work is divided into equal parts, and in each part the cut that the fewest bytes cross is taken.
std::vector<std::size_t> chosen_cuts(const Problem& problem, double most) {
  const std::size_t layers = problem.layers();
  std::vector<std::size_t> cuts;
  const double total = problem.forward[layers] + problem.backward[layers];
  const bool all = static_cast<double>(layers) <= most || total <= 0.0;
  std::size_t part = 0;  // the part that contains the last chosen cut
  for (std::size_t at = 1; at < layers; ++at) {
    const double done = (problem.forward[at] + problem.backward[at]) / total;
    const auto own = all ? at : static_cast<std::size_t>(done * (most - 1.0)) + 1;
    if (own != part) {
      cuts.push_back(at);
    } else if (problem.cut_bytes[at] < problem.cut_bytes[cuts.back()]) {
      cuts.back() = at;
    }
    part = own;
  }
  cuts.push_back(layers);
  return cuts;
}

/// The number of cuts with which the search stays within limits.work. It extends each prefix of each (cut, devices) to
/// each later cut (a factor of cuts² / 2), with each number of devices and by each policy.
double most_cuts(const Problem& problem, const SearchLimits& limits) {
  const auto devices = static_cast<double>(problem.devices());
  const auto counts = std::min(devices, static_cast<double>(problem.most_replicas));
  const double prefixes = static_cast<double>(limits.width) * static_cast<double>(std::tuple_size_v<State>);
  const double moves = devices * counts * prefixes * static_cast<double>(kPolicies.size()) / 2.0;
  return std::max(2.0, std::sqrt(2.0 * limits.work / moves));
}

class Search {
 public:
  Search(const Problem& problem, const SearchLimits& limits)
      : problem_(problem),
        width_(limits.width),
        most_steps_(limits.work * kStepsPerLatency),
        cuts_(chosen_cuts(problem, most_cuts(problem, limits))) {
    for (double factor : problem.factors) fastest_ = std::min(fastest_, factor);
    least_overhead_ = std::ranges::min(problem.pass_overheads);
  }

  Answer run() {
    const std::size_t devices = problem_.devices();
    states_.resize((cuts_.size() + 1) * (devices + 1));
    states_[0][0].emplace_back();
    // States are (cut, devices used). Cut 0 is the start of the chain, cut c is cuts_[c - 1]. Every move goes to a
    // later cut and uses more devices, so a state is complete when the loops come to it, and its prefixes can be moved
    // out.
    for (std::size_t c = 0; c < cuts_.size() && !is_spent(); ++c) {
      for (std::size_t used = 0; used < devices && !is_spent(); ++used) {
        const State state = std::move(states_[c * (devices + 1) + used]);
        if (is_out_of_reach(at(c), devices - used)) continue;
        for (const Prefix& prefix : state[0]) extend(prefix, c);
        for (const Prefix& prefix : state[1]) {
          if (std::ranges::find(state[0], prefix.stages, &Prefix::stages) == state[0].end()) extend(prefix, c);
        }
      }
    }
    answer_.cuts = cuts_.size() - 1;
    answer_.ended_early = is_spent();
    return std::move(answer_);
  }

 private:
  [[nodiscard]] std::size_t at(std::size_t c) const { return c == 0 ? 0 : cuts_[c - 1]; }
  [[nodiscard]] double microbatches() const { return static_cast<double>(problem_.microbatches); }
  [[nodiscard]] bool is_spent() const { return steps_ > most_steps_; }
  [[nodiscard]] bool is_hopeless(const Block& block) const { return microbatches() * block.both() >= best_; }
  /// Whether no plan can beat the best one even if all devices that are left shared the layers from `begin` on
  /// perfectly.
  [[nodiscard]] bool is_out_of_reach(std::size_t begin, std::size_t left) const {
    const std::size_t end = problem_.layers();
    const std::vector<double>& work = problem_.divided.least_work();
    return microbatches() * (work[end] - work[begin]) * fastest_ / static_cast<double>(left) >= best_;
  }

  /// The moves that the policies allow from a set of used devices, by increasing number of devices, each set of devices
  /// once. When all steps are spent only moves with the largest number are made, so that there is a complete plan.
  const std::vector<Move>& moves(const Used& used) {
    const auto [found, is_new] = moves_.try_emplace(used);
    if (!is_new) return found->second;
    const auto left = static_cast<std::size_t>(std::ranges::count(used, false));
    const std::size_t most = std::min(left, problem_.most_replicas);
    for (std::size_t count = 1; count <= most; ++count) {
      if (is_spent()) count = most;
      std::vector<std::vector<DeviceId>> tried;
      for (Policy policy : kPolicies) {
        std::vector<DeviceId> devices = place(policy, problem_.nodes, used, count);
        steps_ += kStepsPerDevice * static_cast<double>(problem_.devices());
        if (std::ranges::find(tried, devices) != tried.end()) continue;
        found->second.push_back(move_to(used, devices, left - count));
        tried.push_back(std::move(devices));
      }
    }
    return found->second;
  }

  Move move_to(const Used& used, const std::vector<DeviceId>& devices, std::size_t left) {
    Move move{problem_.device_set(devices, steps_), used, left, {}, 0.0};
    for (DeviceId device : devices) move.used[device.value()] = true;
    if (left == 0) return move;
    const std::size_t count = std::min(left, problem_.most_replicas);
    move.rest = problem_.device_set(place(Policy::AppendFirst, problem_.nodes, move.used, count), steps_);
    steps_ += kStepsPerDevice * static_cast<double>(problem_.devices());
    move.speed = problem_.speed(move.set, move.rest, steps_);
    return move;
  }

  void extend(const Prefix& prefix, std::size_t c) {
    const Used none(problem_.devices(), false);
    for (const Move& move : moves(prefix.last == nullptr ? none : prefix.last->used)) {
      if (prefix.last != nullptr && is_spent()) return;
      extend_by(prefix, c, move);
    }
  }

  /// Extends a prefix by a stage on the move's devices that ends at each later cut. The stage only grows, so the loop
  /// ends as soon as the stage alone is no better than the best plan.
  void extend_by(const Prefix& prefix, std::size_t c, const Move& move) {
    blocks_ = prefix.blocks;
    steps_ += static_cast<double>(blocks_.size() + 1);
    if (!blocks_.empty()) {
      blocks_.push_back(problem_.channel(at(c), problem_.speed(prefix.last->set, move.set, steps_)));
      if (is_hopeless(blocks_.back())) return;
    }
    const std::size_t own = blocks_.size();
    const std::size_t devices = problem_.devices() - move.left;
    for (std::size_t end = c + 1; end <= cuts_.size(); ++end) {
      blocks_.resize(own);
      blocks_.push_back(problem_.stage(at(c), at(end), move.set));
      if (is_hopeless(blocks_.back())) return;
      const bool uses_all = move.left == 0 || move.set.devices.size() == problem_.most_replicas;
      if (end == cuts_.size() && uses_all) judge(prefix, at(c), at(end), move);
      if (end == cuts_.size() || move.left == 0 || is_out_of_reach(at(end), move.left)) continue;
      blocks_.push_back(problem_.channel(at(end), move.speed));
      blocks_.push_back(problem_.stage(at(end), problem_.layers(), move.rest));
      keep(prefix, at(c), at(end), move, states_[end * (problem_.devices() + 1) + devices]);
    }
  }

  /// Computes the latency of the plan in `blocks_`: the prefix, a stage [begin, end), and a stage with the layers left.
  /// Keeps the plan if it is the best so far.
  double judge(const Prefix& prefix, std::size_t begin, std::size_t end, const Move& move) {
    ++answer_.work;
    steps_ += static_cast<double>(blocks_.size());
    const Latency latency = pipeline_latency(blocks_, problem_.microbatches);
    if (latency.total() < best_) {
      best_ = latency.total();
      answer_.latency = latency;
      answer_.stages = prefix.stages;
      answer_.stages.push_back({begin, end, move.set.devices});
      if (end < problem_.layers()) answer_.stages.push_back({end, problem_.layers(), move.rest.devices});
    }
    return latency.total();
  }

  /// The latency of the plan in `blocks_` if its last stage were a straight pipeline on the devices left, of equal
  /// stages without transfers and synchronisation.
  double straight(std::size_t begin, std::size_t left) {
    const std::size_t end = problem_.layers();
    const std::size_t count = std::min({left, end - begin, kMostStraight});
    const double share = fastest_ / static_cast<double>(count);
    const Block rest = blocks_.back();
    const std::size_t others = blocks_.size() - 1;
    blocks_.back() = {(problem_.forward[end] - problem_.forward[begin]) * share + least_overhead_,
                      (problem_.backward[end] - problem_.backward[begin]) * share + least_overhead_, 0.0};
    const Block part = blocks_.back();
    for (std::size_t i = 1; i < count; ++i) blocks_.insert(blocks_.end(), {Block{}, part});
    steps_ += static_cast<double>(blocks_.size());
    const double value = pipeline_latency(blocks_, problem_.microbatches).total();
    blocks_.resize(others);
    blocks_.push_back(rest);
    return value;
  }

  /// Adds the extended prefix to the lists of its state.
  void keep(const Prefix& prefix, std::size_t begin, std::size_t end, const Move& move, State& state) {
    keep(prefix, begin, end, move, judge(prefix, begin, end, move), state[0]);
    keep(prefix, begin, end, move, straight(end, move.left), state[1]);
  }

  /// Adds the extended prefix to the prefixes `kept` if it is among the `width_` best. Of prefixes that use the same
  /// devices only the best is kept.
  void keep(const Prefix& prefix, std::size_t begin, std::size_t end, const Move& move, double value,
            std::vector<Prefix>& kept) {
    const std::size_t words = 1 + problem_.devices() / 64;
    steps_ += static_cast<double>(kept.size() * words);
    const auto same = std::ranges::find_if(kept, [&](const Prefix& other) { return other.last->used == move.used; });
    if (same != kept.end()) {
      if (same->value <= value) return;
      kept.erase(same);
    } else if (kept.size() == width_) {
      if (kept.back().value <= value) return;
      kept.pop_back();
    }
    steps_ += static_cast<double>(problem_.devices());
    Prefix longer{prefix.stages, prefix.blocks, &move, value};
    longer.stages.push_back({begin, end, move.set.devices});
    longer.blocks.assign(blocks_.begin(), blocks_.end() - 2);
    kept.insert(std::ranges::upper_bound(kept, value, {}, &Prefix::value), std::move(longer));
  }

  const Problem& problem_;
  std::size_t width_;
  double most_steps_;
  double steps_ = 0.0;
  std::vector<std::size_t> cuts_;
  double fastest_ = std::numeric_limits<double>::infinity();
  double least_overhead_ = 0.0;  // of a pass
  double best_ = std::numeric_limits<double>::infinity();
  std::vector<Block> blocks_;
  std::map<Used, std::vector<Move>> moves_;
  std::vector<State> states_;  // [cut * (devices + 1) + devices used]
  Answer answer_;
};

}  // namespace

Answer search(const Problem& problem, const SearchLimits& limits) { return Search(problem, limits).run(); }

}  // namespace stagecraft::dapple
