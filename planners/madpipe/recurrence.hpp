#pragma once

#include "planners/madpipe/allocation.hpp"
#include "planners/madpipe/lattice.hpp"
#include "planners/madpipe/stage_costs.hpp"
#include "planners/madpipe/state_table.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

namespace stagecraft::madpipe {

/// D(l, p, t, m, V): the smallest bottleneck of layers 1..l with p normal devices left, where the special device
/// already carries load t and memory m of the layers behind, and V is the delay between the forward and the backward of
/// layer l.
///
///   D(0, ...) = 0, and D(l, p, t, m, V) is the least, over k = l down to 1, of
///   Normal(k)  = max(U(k,l), C(k-1), D(k-1, p-1, t, m, V'))                        if p > 0 and Mem(k,l,g) <= M
///   Special(k) = max(t + U(k,l), C(k-1), D(k-1, p, t + U(k,l), m + Mem(k,l,g'), V'))  if m + Mem(k,l,g) <= M
///   with v = V (+) U(k,l), V' = v (+) C(k-1), g = ⌈v / T^⌉ and g' = g or g - 1,
///   where Normal(k) comes before Special(k) and a later choice counts only if it is strictly better.
///
/// In code layers count from 0, so that a stage is [k, l), and the states are those of a lattice. V (+) u and g only
/// need ⌈V⌉: their tests compare V and V + u with whole multiples of a whole T^.
///
/// A state is asked for its value below a limit, the best value of the state that asks: what is not below it cannot
/// improve that state, since a choice is at least D of what it leaves. The answer is either the value, with its choice,
/// or a lower bound of it. Value and choice are those of the full recurrence: a choice that is passed over is no better
/// than one looked at before it. What ends a state's choices early or spares one hides nothing below the limit:
/// - U(k,l) and Mem(k,l,g), without the buffers before k, only grow as k falls: where the one reaches the limit or the
///   other exceeds the memory, so do all longer stages. V (+) u grows with V and u, hence g grows too.
/// - p devices with less than the limit each cannot carry U(1,k-1), nor p + 1 devices U(1,k-1) + t. Either is needed:
/// the
///   special device is used again or not.
/// - D grows with t. So the same recurrence without t, which has few states, gives lower bounds for all t. They decide
///   most questions where memory is what binds.
/// More normal devices than open layers are of no use: p counts as at most l. The root is asked with limits that grow
/// until its value is below one; lower bounds stay valid from one to the next. The witness follows the choices from the
/// root, along which all values are known.
template <class Axis, class Keys>
class Recursion {
 public:
  Recursion(StageCosts costs, Lattice<Axis> lattice, Keys keys, bool counts_load = true)
      : costs_(std::move(costs)), lattice_(std::move(lattice)), table_(keys), counts_load_(counts_load) {
    if (counts_load) without_load_ = std::make_unique<Recursion>(costs_, lattice_, keys, false);
  }

  /// As `AllocationSolver::solve`, but stages in reverse order, and device 0 is the special one.
  std::optional<Allocation> solve(Ticks target, Ticks below) {
    restart(target);
    const State root{costs_.layers(), std::min(costs_.normal_devices(), costs_.layers()), 0, 0, 0};
    const Ticks least = costs_.least_bottleneck();
    Ticks limit = std::min(below, least + least / 8 + 1);
    for (;;) {
      Ticks bound = without_load_->lower_bound(root, limit);
      if (bound < limit) {
        const Entry& answer = value_of(root, limit);
        if (answer.choice != kNoChoice) return witness(root, answer.value);
        bound = answer.value;
      }
      if (bound >= below) return std::nullopt;
      limit = limit > costs_.largest_bottleneck() ? below : std::min(below, least + 2 * (limit - least));
      if (limit <= bound) limit = bound + 1;
    }
  }

  [[nodiscard]] std::size_t state_count() const {
    return table_.size() + (without_load_ ? without_load_->state_count() : 0);
  }

 private:
  using Entry = typename StateTable<Keys>::Entry;

  /// A state whose choices are being looked at.
  struct Frame {
    State state;
    std::uint32_t entry = 0;
    std::uint32_t choice = kNoChoice;
    Ticks best = 0;                  // the limit, or the value of the choice
    Ticks passed_over = kUnlimited;  // a lower bound of all choices that were not below the limit
    Ticks delay = 0;                 // rounded up
    std::int64_t periods = 0;        // ⌈V / T^⌉
    std::int64_t room = 0;           // memory that the special device has left
    StageInHand stage;               // the last one looked at
    bool special_is_next = false;
    Ticks own = 0;  // of the choice whose rest is asked for
  };

  void restart(Ticks target) {
    target_ = target;
    table_.clear();
    if (without_load_) without_load_->restart(target);
  }

  /// Of the value of the state whatever the special device carries: that value itself if it is below `limit`.
  Ticks lower_bound(State state, Ticks limit) {
    state.load = 0;
    const Entry& entry = table_[table_.find(state)];
    if (entry.choice != kNoChoice || entry.value >= limit) return entry.value;
    return value_of(state, limit).value;
  }

  static std::uint32_t choice_of(std::uint32_t begin, bool special) { return 2 * begin + (special ? 1 : 0); }

  Frame open(const State& state, std::uint32_t entry, Ticks limit) {
    Frame frame;
    frame.state = state;
    frame.entry = entry;
    frame.best = limit;
    frame.delay = lattice_.delay.value(state.delay);
    frame.periods = frame.delay / target_ + (frame.delay % target_ == 0 ? 0 : 1);
    frame.room = costs_.capacity() - lattice_.memory.value(state.memory);
    frame.stage = costs_.before(state.layers);
    return frame;
  }

  const Entry& value_of(const State& root, Ticks limit) {
    const std::uint32_t entry = table_.find(root);
    frames_.assign(1, open(root, entry, limit));
    while (!frames_.empty()) {
      if (advance()) continue;  // to the rest of a choice
      const Frame& frame = frames_.back();
      Entry& done = table_[frame.entry];
      done.choice = frame.choice;
      done.value = frame.choice != kNoChoice ? frame.best : std::max(done.value, frame.passed_over);
      frames_.pop_back();
      if (!frames_.empty()) take(frames_.back(), done);
    }
    return table_[entry];
  }

  /// Looks at the choices of the last frame until one needs a state that is not known (true) or all are done (false).
  bool advance() {
    for (;;) {
      Frame& frame = frames_.back();
      if (frame.special_is_next) {
        frame.special_is_next = false;
        if (frame.stage.memory <= frame.room && consider(frame, true)) return true;
        continue;
      }
      if (frame.stage.begin == 0) return false;
      costs_.prepend(frame.stage);
      if (frame.stage.load >= frame.best) return pass_over(frame, frame.stage.load);
      if (frame.stage.cut >= frame.best) {
        pass_over(frame, frame.stage.cut);
        continue;
      }
      costs_.schedule(frame.stage, frame.delay, frame.periods, target_);
      if (frame.stage.memory_behind > (frame.state.normal > 0 ? costs_.capacity() : frame.room)) return false;
      frame.special_is_next = true;
      if (frame.state.normal > 0 && frame.stage.memory <= costs_.capacity() && consider(frame, false)) return true;
    }
  }

  /// False.
  static bool pass_over(Frame& frame, Ticks bound) {
    frame.passed_over = std::min(frame.passed_over, bound);
    return false;
  }

  State rest_of(const Frame& frame, bool special) const {
    const StageInHand& stage = frame.stage;
    State rest = frame.state;
    rest.layers = stage.begin;
    rest.normal = std::min(special ? rest.normal : rest.normal - 1, stage.begin);
    rest.delay = stage.is_delayed ? lattice_.delay.point(stage.delay)
                                  : rest.delay + lattice_.delay.point(stage.load + stage.cut);
    if (special) {
      if (counts_load_) rest.load += lattice_.load.point(stage.load);
      rest.memory += lattice_.memory.point(stage.charged);
    }
    return rest;
  }

  /// Whether a choice has to wait for a frame of its rest.
  bool consider(Frame& frame, bool special) {
    const StageInHand& stage = frame.stage;
    const Ticks load = special ? lattice_.load.value(frame.state.load) + stage.load : stage.load;
    frame.own = std::max(load, stage.cut);
    if (frame.own >= frame.best) return pass_over(frame, frame.own);
    if (stage.begin == 0) {
      frame.best = frame.own;
      frame.choice = choice_of(0, special);
      return false;
    }
    const State rest = rest_of(frame, special);
    if (costs_.is_too_much(rest.layers, rest.normal, lattice_.load.value(rest.load), frame.best)) {
      return pass_over(frame, frame.best);
    }
    const std::uint32_t index = table_.find(rest);
    Entry& entry = table_[index];
    if (without_load_ && entry.choice == kNoChoice && entry.value < frame.best) {
      entry.value = std::max(entry.value, without_load_->lower_bound(rest, frame.best));
    }
    if (entry.choice != kNoChoice || entry.value >= frame.best) {
      take(frame, entry);
      return false;
    }
    frames_.push_back(open(rest, index, frame.best));
    return true;
  }

  /// The choice in hand, whose rest is known.
  void take(Frame& frame, const Entry& rest) {
    const Ticks value = std::max(frame.own, rest.value);
    if (value < frame.best) {
      frame.best = value;
      frame.choice = choice_of(frame.stage.begin, !frame.special_is_next);
    } else {
      pass_over(frame, value);
    }
  }

  Allocation witness(State state, Ticks bottleneck) {
    Allocation result;
    result.target = target_;
    result.bottleneck = bottleneck;
    constexpr std::uint32_t kSpecial = 0;
    std::uint32_t normal = kSpecial;
    while (state.layers > 0) {
      const std::uint32_t choice = table_[table_.find(state)].choice;
      Frame frame = open(state, 0, kUnlimited);
      while (frame.stage.begin > choice / 2) costs_.prepend(frame.stage);
      costs_.schedule(frame.stage, frame.delay, frame.periods, target_);
      const bool special = choice % 2 == 1;
      result.stages.push_back({frame.stage.begin, state.layers, special ? kSpecial : ++normal});
      result.in_flight.push_back(frame.stage.in_flight);
      if (special) result.special_device = kSpecial;
      state = rest_of(frame, special);
    }
    return result;
  }

  StageCosts costs_;
  Lattice<Axis> lattice_;
  StateTable<Keys> table_;
  std::vector<Frame> frames_;
  bool counts_load_;
  std::unique_ptr<Recursion> without_load_;  // for lower bounds
  Ticks target_ = 1;
};

}  // namespace stagecraft::madpipe
