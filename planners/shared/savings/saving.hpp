#pragma once

#include "sim/base/quantity.hpp"

#include <algorithm>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

namespace stagecraft {

/// Consecutive layers of a stage that are kept, swapped or recomputed together. All figures are for one microbatch on
/// the stage's device.
struct SavingUnit {
  Seconds forward;
  Seconds backward;
  Bytes stash;         ///< kept from the forward to the end of the unit's backward
  Bytes checkpoint;    ///< the part of it that stays if the unit is recomputed; at most `stash`
  Bytes workspace{0};  ///< of the layer that needs most, while it runs
  Bytes shared{0};     ///< the part of the stash that stays on behind its backward, for units before it
  friend auto operator<=>(const SavingUnit&, const SavingUnit&) = default;
};

enum class UnitAction : std::uint8_t {
  Keep,
  Swap,
  Recompute,  ///< as the first unit of a segment
  Join,       ///< recomputed in one segment with the unit before it
};
[[nodiscard]] constexpr bool is_recomputed(UnitAction action) {
  return action == UnitAction::Recompute || action == UnitAction::Join;
}

/// What a stage may use: what its place in the pipeline and its device allow.
struct StageBudget {
  std::int64_t in_flight = 1;  ///< K: microbatches whose backward is pending, at most
  std::int64_t resident = 1;   ///< rho: how many of them have a swapped unit on the device, at most K
  Bytes held;                  ///< weights, gradients, optimizer state and buffers
  Bytes capacity;
  double bandwidth = 0.0;    ///< bytes per second to the host, in each direction; 0: nothing can be swapped
  bool half_duplex = false;  ///< both directions share that bandwidth
  Bytes other_traffic;       ///< bytes per microbatch, in each direction, that the copies leave room for
  Seconds unhidden;          ///< what the copies of a microbatch cannot be hidden behind
  friend auto operator<=>(const StageBudget&, const StageBudget&) = default;
};

/// The runs of units that end before the unit `end` and begin at `begin` or later, each as one unit that can be
/// recomputed as one segment; the shortest first, which is the unit before `end`.
using Segments = std::function<std::vector<SavingUnit>(std::size_t begin, std::size_t end)>;

/// The units of a stage for which actions are chosen, and its budget.
struct SavingStage {
  std::vector<SavingUnit> units;
  StageBudget budget;
  Segments segments = {};  ///< none: each unit is recomputed by itself
  /// Stages with equal units and equal numbers here have equal segments; empty: not known.
  std::span<const std::uint32_t> likeness = {};
};

/// What a stage saves: the action of each of its units.
struct StageSaving {
  std::vector<UnitAction> actions;  ///< of each unit
  Seconds time;                     ///< T: of a microbatch, recomputation and copies that are not hidden included
  Bytes memory;
  /// Of each unit: how many of the microbatches in flight keep it although others recompute it, the same for all units
  /// of a segment; empty: none.
  std::vector<std::int64_t> kept = {};
  friend bool operator==(const StageSaving&, const StageSaving&) = default;
};
[[nodiscard]] bool recomputes(const StageSaving& saving);

/// Whether units can be swapped: the host can be reached, and fewer microbatches than are in flight have a swapped unit
/// on the device.
[[nodiscard]] bool can_swap(const StageBudget& budget);

/// The memory of a stage with K microbatches in flight, of which rho have a swapped unit on the device:
///   held + K · kept stash + rho · swapped stash + K · checkpoints + the most that a unit needs while it runs.
/// A unit needs its workspace in the forward. In the backward one that is recomputed also needs what it restores, less
/// what the units behind it have freed of the same microbatch. What swapped units free does not count, since it may be
/// taken by the copies of the next one.
/// Units that are recomputed as one segment count as one. **Shape** an action for each unit; the first does not join.
/// **Cost** O(units), and that of the segments.
/// **Source** vPipe (Zhao et al. 2022); the formula is our reconstruction.
[[nodiscard]] Bytes saved_memory(const SavingStage& stage, std::span<const UnitAction> actions);

/// The parts of a stage that have one action: a recomputed segment, or a unit that is kept or swapped. From the last
/// one to the first. **Shape** and **cost** as above.
struct SavedPart {
  std::size_t begin = 0;
  std::size_t end = 0;
  UnitAction action = UnitAction::Keep;
  SavingUnit unit;
};
[[nodiscard]] std::vector<SavedPart> parts_of(const SavingStage& stage, std::span<const UnitAction> actions);
/// The lengths of segments that searches look at: all in stages of up to `kFewUnits` units, in others all up to 8 and
/// then four for each doubling. Only 1 where there are no segments.
inline constexpr std::size_t kFewUnits = 16;
[[nodiscard]] std::vector<std::size_t> segment_lengths(const SavingStage& stage);
/// The runs of units that end before `end`; the unit alone where there are no segments.
[[nodiscard]] std::vector<SavingUnit> segments_before(const SavingStage& stage, std::size_t end);

/// The time of a microbatch: the larger of the computation (forwards, backwards, and again the forwards of recomputed
/// units) and the copies in one direction, with what they are not hidden behind. **Shape**, **cost** and **source** as
/// above.
[[nodiscard]] Seconds saved_time(std::span<const SavingUnit> units, std::span<const UnitAction> actions,
                                 const StageBudget& budget);

/// The time in which `swapped` bytes of a microbatch go to the host while as many come back: twice the time of one
/// direction if both share the bandwidth. The budget's other traffic goes first, and so does what the copies cannot be
/// hidden behind. 0 if nothing is swapped.
/// **Requires** `can_swap` if anything is swapped.
[[nodiscard]] Seconds copy_time(Bytes swapped, const StageBudget& budget);

/// The forwards and backwards of a microbatch.
[[nodiscard]] Seconds compute_time(std::span<const SavingUnit> units);

/// The memory that a unit takes with an action while it does not run.
[[nodiscard]] Bytes residency(const SavingUnit& unit, UnitAction action, const StageBudget& budget);

/// What a unit needs while it is recomputed: the rest of its stash, and its workspace.
[[nodiscard]] Bytes restoring(const SavingUnit& unit);

/// The largest workspace.
[[nodiscard]] Bytes largest_workspace(std::span<const SavingUnit> units);

/// What the units of a microbatch need in its backward while actions are chosen from the last unit to the first.
struct BackwardNeed {
  Bytes freed;    ///< by the units so far
  Bytes running;  ///< the most that they need while they run
  void take(const SavingUnit& unit, UnitAction action);
  friend bool operator==(const BackwardNeed&, const BackwardNeed&) = default;
};

/// The needs of a microbatch's backward while the actions of single units change: a tree over the units, whose nodes
/// have what the units below free, and the most that one of them needs more than those behind it in the node have
/// freed.
class BackwardNeeds {
 public:
  /// All kept.
  explicit BackwardNeeds(std::span<const SavingUnit> units);
  /// **Cost** O(log units).
  void choose(std::size_t position, const SavingUnit& unit, UnitAction action);
  [[nodiscard]] Bytes running() const { return std::max(workspace_, nodes_[1].running); }

 private:
  static BackwardNeed joined(const BackwardNeed& before, const BackwardNeed& behind);

  std::size_t leaves_ = 1;
  std::vector<BackwardNeed> nodes_;  ///< the root is the first, the children of node i are 2 i and 2 i + 1
  Bytes workspace_;                  ///< the largest
};

/// The actions of a stage while a planner chooses them, at first all `Keep`, and the memory that they need. The units
/// must outlive it.
class SavingChoice {
 public:
  SavingChoice(std::span<const SavingUnit> units, const StageBudget& budget);

  /// **Requires** `can_swap` for a swap. **Cost** O(log units).
  void choose(std::size_t unit, UnitAction action);

  /// The last resort, whatever time it takes: units get the action with which they take the least memory, the unit
  /// whose memory falls most first (of equal ones the first), until the stage fits. Of actions with equal memory a unit
  /// is recomputed rather than swapped, and swapped rather than kept. It does not look at what units
  /// need while they run. **Cost** O(units log units).
  void take_least_residency();

  /// Keeps units again wherever the stage still fits then: recomputed ones first, those with the longest forwards
  /// first; then swapped ones, those with the largest stashes first. Of equal ones the first comes first.
  /// **Requires** a stage that fits. **Cost** O(units log units).
  void keep_again();

  [[nodiscard]] UnitAction action(std::size_t unit) const { return actions_[unit]; }
  [[nodiscard]] std::size_t size() const { return units_.size(); }
  [[nodiscard]] Bytes swapped() const { return swapped_; }
  [[nodiscard]] Bytes memory() const;
  [[nodiscard]] bool fits() const { return memory() <= budget_.capacity; }
  /// The actions with their time and memory; none if they do not fit. **Cost** O(units).
  [[nodiscard]] std::optional<StageSaving> saving() const;

 private:
  std::span<const SavingUnit> units_;
  StageBudget budget_;
  std::vector<UnitAction> actions_;
  Bytes residencies_;
  Bytes swapped_;
  BackwardNeeds needs_;
};

}  // namespace stagecraft
