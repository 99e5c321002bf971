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

/// The recurrence of MadPipe's phase 1. D(l, p, t, m, V) is the smallest bottleneck of layers 1..l with p normal
/// devices left, where the special device already has load t and memory m from the layers after l, and V is the delay
/// between the forward and the backward of layer l. U(k,l) is the load of a stage with layers k..l, C(k-1) that of the
/// cut before it, Mem(k,l,g) its memory with g microbatches in flight, and M the capacity of a device.
///
///   D(0, ...) = 0, and D(l, p, t, m, V) is the minimum, over k = l down to 1, of
///   Normal(k)  = max(U(k,l), C(k-1), D(k-1, p-1, t, m, V'))                        if p > 0 and Mem(k,l,g) <= M
///   Special(k) = max(t + U(k,l), C(k-1), D(k-1, p, t + U(k,l), m + Mem(k,l,g'), V'))  if m + Mem(k,l,g) <= M
///   with v = V (+) U(k,l), V' = v (+) C(k-1), g = ⌈v / T^⌉ and g' = g or g - 1,
///   where Normal(k) comes before Special(k), and a later choice is taken only if it is strictly better.
///
/// In the code layers are counted from 0, so a stage is [k, l), and the coordinates t, m and V are those of a lattice.
/// V (+) u and g need only ⌈V⌉, because their tests compare V and V + u with whole multiples of a whole T^.
///
/// Only reached states are computed, by a depth-first search with a stack of its own (`frames_`). A state is asked for
/// its value below a limit, which is the best value so far of the state that asks: a larger value cannot improve that
/// state, since the value of a choice is at least the D of the state that it leads to. The answer is either the value
/// with its choice, or a lower bound of the value. Value and choice are those of the full recurrence, because a choice
/// that is passed over is no better than one that was looked at before it. Three rules end the loop over choices early
/// or skip a choice; none of them misses a value below the limit:
/// - U(k,l) and Mem(k,l,g) without the buffers before k only grow as k falls. If U reaches the limit or Mem exceeds the
///   memory, the same is true for all longer stages. (V (+) u grows with V and u, and so does g.)
/// - p devices with a load below the limit each cannot carry U(1,k-1), and p + 1 devices cannot carry U(1,k-1) + t. One
/// of
///   the two would be necessary, depending on whether the special device is used again.
/// - D grows with t. So the same recurrence without t, which has few states, gives lower bounds for all t
///   (`without_load_`). They are enough in most cases in which memory is the limiting factor.
/// More normal devices than layers left are of no use, so p is at most l. The root is asked with limits that grow until
/// its value is below the limit; lower bounds remain valid from one limit to the next. The allocation is read back by
/// following the choices from the root; all states on that path have known values.
template <class Axis, class Keys>
class Recursion {
 public:
  Recursion(StageCosts costs, Lattice<Axis> lattice, Keys keys, bool counts_load = true)
      : costs_(std::move(costs)), lattice_(std::move(lattice)), table_(keys), counts_load_(counts_load) {
    if (counts_load) without_load_ = std::make_unique<Recursion>(costs_, lattice_, keys, false);
  }

  /// As `AllocationSolver::solve`, but with the stages in reverse order and the special device as device 0.
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

  /// A state on the stack, with the progress of the loop over its choices.
  struct Frame {
    State state;
    std::uint32_t entry = 0;
    std::uint32_t choice = kNoChoice;
    Ticks best = 0;                  // the limit, or the value of `choice` once there is one
    Ticks passed_over = kUnlimited;  // a lower bound of all choices that were passed over
    Ticks delay = 0;                 // rounded up
    std::int64_t periods = 0;        // ⌈V / T^⌉
    std::int64_t room = 0;           // memory that is left on the special device
    StageInHand stage;               // the stage of the current choice
    bool special_is_next = false;    // whether the same stage is to be tried on the special device next
    Ticks own = 0;                   // load of device and cut in the choice whose remaining state is being computed
  };

  void restart(Ticks target) {
    target_ = target;
    table_.clear();
    if (without_load_) without_load_->restart(target);
  }

  /// A lower bound of the state's value for any load of the special device, by the recurrence without loads. It is the
  /// value of that recurrence itself if it is below `limit`.
  Ticks lower_bound(State state, Ticks limit) {
    state.load = 0;
    const Entry& entry = table_[table_.find(state)];
    if (entry.choice != kNoChoice || entry.value >= limit) return entry.value;
    return value_of(state, limit).value;
  }

  /// A choice as one number: twice the begin of the stage, plus 1 for the special device.
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

  /// The entry of a state after the search: its value and choice if the value is below `limit`, otherwise a lower
  /// bound.
  const Entry& value_of(const State& root, Ticks limit) {
    const std::uint32_t entry = table_.find(root);
    frames_.assign(1, open(root, entry, limit));
    while (!frames_.empty()) {
      if (advance()) continue;  // a frame for the remaining state of a choice was pushed
      const Frame& frame = frames_.back();
      Entry& done = table_[frame.entry];
      done.choice = frame.choice;
      done.value = frame.choice != kNoChoice ? frame.best : std::max(done.value, frame.passed_over);
      frames_.pop_back();
      if (!frames_.empty()) take(frames_.back(), done);
    }
    return table_[entry];
  }

  /// Looks at the choices of the top frame. Returns true if a choice needs a state that is not known yet, for which a
  /// frame was pushed, and false if all choices are done.
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

  /// Notes a lower bound of a choice that is not taken. Always returns false, for callers that return the same.
  static bool pass_over(Frame& frame, Ticks bound) {
    frame.passed_over = std::min(frame.passed_over, bound);
    return false;
  }

  /// The state that remains after a choice.
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

  /// Looks at the current stage on a normal or the special device. Returns true if the remaining state is not known
  /// yet; a frame for it is then on the stack, and `take` is called when it is done.
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

  /// Compares the current choice, whose remaining state is now known, with the best one so far.
  void take(Frame& frame, const Entry& rest) {
    const Ticks value = std::max(frame.own, rest.value);
    if (value < frame.best) {
      frame.best = value;
      frame.choice = choice_of(frame.stage.begin, !frame.special_is_next);
    } else {
      pass_over(frame, value);
    }
  }

  /// The allocation that belongs to the value of `state`, by following the choices.
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
