#include "sim/schedule/fixed/v_slots.hpp"

#include "sim/base/error.hpp"
#include "sim/schedule/fixed/device_order.hpp"

#include <algorithm>
#include <cstddef>
#include <deque>
#include <optional>
#include <utility>

namespace stagecraft {
namespace {

// A schedule is a grid of slots, a row for each device. Two rounds make it dense. In each, the passes of the warm-up
// and of the cool-down move to the earliest idle slot behind what they wait for, as long as their device holds no more
// than the device that held most before; what lies between keeps its slots, since there the block repeats. The first
// round moves weight halves, too. The second one takes them out, moves only passes of the cool-down, and lets weight
// halves fill idle slots again. After each round the grid is run in its order with passes of one unit, which closes
// gaps.
//
// **Invariant**: a pass moves to an earlier slot only, and slots are visited in their order. So each pass is visited
// once, at its first slot.

constexpr std::int64_t kBlockSlots = 6;  ///< slots from a microbatch's passes to those of the next one
constexpr std::size_t kVPasses = 5;

enum class VPass : std::uint8_t { Forward0, Forward1, Input1, Input0, Weight, Idle };

bool is_forward(VPass pass) { return pass == VPass::Forward0 || pass == VPass::Forward1; }
bool is_input(VPass pass) { return pass == VPass::Input1 || pass == VPass::Input0; }

struct VSlot {
  VPass pass = VPass::Idle;
  std::int64_t number = 0;  ///< its microbatch; of a weight half, how many are before it on the device
};

/// What a device holds after a slot.
struct HeldAfter {
  std::int64_t stashes = 0;
  std::int64_t inputs = 0;  ///< input halves whose weight half has not run
  friend bool operator==(const HeldAfter&, const HeldAfter&) = default;
};

/// Whether weight halves have slots of their own, or are thought to run in every idle slot.
enum class WeightSlots : std::uint8_t { Placed, InIdleSlots };

HeldAfter held_after(HeldAfter held, VPass pass, WeightSlots weights) {
  if (is_forward(pass)) ++held.stashes;
  if (is_input(pass)) ++held.inputs;
  const bool fills = pass == VPass::Idle && weights == WeightSlots::InIdleSlots && held.inputs > 0;
  if (fills || pass == VPass::Weight) {
    --held.stashes;
    --held.inputs;
  }
  return held;
}

/// The slots of a device.
class SlotRow {
 public:
  [[nodiscard]] std::int64_t end() const { return std::ssize(slots_); }
  [[nodiscard]] const VSlot& operator[](std::int64_t slot) const { return slots_[static_cast<std::size_t>(slot)]; }
  [[nodiscard]] std::int64_t at(VPass pass, std::int64_t number) const {
    return at_[static_cast<std::size_t>(pass)][static_cast<std::size_t>(number)];
  }

  [[nodiscard]] bool has(const VSlot& pass) const {
    return pass.number < std::ssize(at_[static_cast<std::size_t>(pass.pass)]);
  }

  void put(std::int64_t slot, VSlot pass) {
    const auto position = static_cast<std::size_t>(slot);
    if (slots_.size() <= position) slots_.resize(position + 1);
    slots_[position] = pass;
    std::vector<std::int64_t>& row = at_[static_cast<std::size_t>(pass.pass)];
    const auto number = static_cast<std::size_t>(pass.number);
    if (row.size() <= number) row.resize(number + 1);
    row[number] = slot;
  }
  void move(std::int64_t from, std::int64_t to) {
    put(to, slots_[static_cast<std::size_t>(from)]);
    slots_[static_cast<std::size_t>(from)] = {};
  }

  /// The slot of the input half that is the n-th on the device.
  [[nodiscard]] std::int64_t input(std::int64_t n) const {
    for (std::int64_t slot = 0;; ++slot) {
      if (is_input((*this)[slot].pass) && n-- == 0) return slot;
    }
  }

  /// Puts weight halves into idle slots behind their input halves, and the rest behind the last pass.
  void fill_weights() {
    std::int64_t waiting = 0;
    std::int64_t placed = 0;
    for (std::int64_t slot = 0; slot < end() || waiting > 0; ++slot) {
      const VPass pass = slot < end() ? (*this)[slot].pass : VPass::Idle;
      if (is_input(pass)) ++waiting;
      if (pass != VPass::Idle || waiting == 0) continue;
      put(slot, {VPass::Weight, placed++});
      --waiting;
    }
  }
  void drop_weights() {
    for (VSlot& slot : slots_) {
      if (slot.pass == VPass::Weight) slot = {};
    }
    while (slots_.back().pass == VPass::Idle) slots_.pop_back();
  }

 private:
  std::vector<VSlot> slots_;
  std::array<std::vector<std::int64_t>, kVPasses> at_;  ///< by pass, by number
};

/// What a device holds before each of its slots, and how far passes may move within a cap.
class HeldLevels {
 public:
  HeldLevels(const SlotRow& row, WeightSlots weights) : weights_(weights), before_(1) { go_on(row, 0); }

  [[nodiscard]] std::int64_t peak() const { return std::ranges::max(before_, {}, &HeldAfter::stashes).stashes; }

  /// Whether the device holds no more than `cap` if the pass at `from` moves to the idle slot `to`.
  [[nodiscard]] bool allows(const SlotRow& row, std::int64_t from, std::int64_t to, std::int64_t cap) const {
    HeldAfter held = before_[static_cast<std::size_t>(to)];
    for (std::int64_t slot = to; slot < row.end(); ++slot) {
      if (slot > from && held == before_[static_cast<std::size_t>(slot)]) return true;
      const VPass pass = slot == to ? row[from].pass : slot == from ? VPass::Idle : row[slot].pass;
      held = held_after(held, pass, weights_);
      if (held.stashes > cap) return false;
    }
    return true;
  }
  /// The row has changed from the slot on.
  void go_on(const SlotRow& row, std::int64_t slot) {
    before_.resize(static_cast<std::size_t>(row.end()) + 1);
    for (; slot < row.end(); ++slot) {
      const auto position = static_cast<std::size_t>(slot);
      before_[position + 1] = held_after(before_[position], row[slot].pass, weights_);
    }
  }

 private:
  WeightSlots weights_;
  std::vector<HeldAfter> before_;  ///< by slot, then after the last one
};

class SlotGrid {
 public:
  SlotGrid(const FixedPipeline& pipeline, const std::function<SlotOffsets(std::int64_t)>& offsets)
      : microbatches_(pipeline.microbatches), rows_(static_cast<std::size_t>(pipeline.devices)) {
    for (std::int64_t device = 0; device < devices(); ++device) {
      const SlotOffsets own = offsets(device);
      for (std::int64_t i = 0; i < microbatches_; ++i) {
        for (std::size_t pass = 0; pass < own.size(); ++pass) {
          row(device).put(own.at(pass) + kBlockSlots * i, {static_cast<VPass>(pass), i});
        }
      }
    }
  }

  void make_dense() {
    fill_weights();
    move_earlier(WeightSlots::Placed);
    squeeze();
    for (SlotRow& row : rows_) row.drop_weights();
    move_earlier(WeightSlots::InIdleSlots);
    fill_weights();
    squeeze();
    for (SlotRow& row : rows_) row.drop_weights();
  }

  [[nodiscard]] const std::vector<SlotRow>& rows() const { return rows_; }

 private:
  [[nodiscard]] std::int64_t devices() const { return std::ssize(rows_); }
  [[nodiscard]] SlotRow& row(std::int64_t device) { return rows_[static_cast<std::size_t>(device)]; }
  [[nodiscard]] const SlotRow& row(std::int64_t device) const { return rows_[static_cast<std::size_t>(device)]; }
  void fill_weights() {
    for (SlotRow& row : rows_) row.fill_weights();
  }

  /// The device whose pass of the same kind and microbatch comes before.
  [[nodiscard]] std::optional<std::int64_t> giver(std::int64_t device, VPass pass) const {
    if (pass == VPass::Weight) return std::nullopt;
    const bool is_down = pass == VPass::Forward0 || pass == VPass::Input1;
    const std::int64_t giver = is_down ? device - 1 : device + 1;
    return giver < 0 || giver == devices() ? std::nullopt : std::optional(giver);
  }

  /// The last slot of what the pass waits for.
  [[nodiscard]] std::int64_t last_input(std::int64_t device, const VSlot& pass) const {
    std::int64_t last = -1;
    if (const auto from = giver(device, pass.pass)) last = row(*from).at(pass.pass, pass.number);
    if (pass.number > 0) last = std::max(last, row(device).at(pass.pass, pass.number - 1));
    if (pass.pass == VPass::Weight) return std::max(last, row(device).input(pass.number));
    if (pass.pass == VPass::Forward0) return last;
    const auto before = static_cast<VPass>(static_cast<std::size_t>(pass.pass) - 1);
    return std::max(last, row(device).at(before, pass.number));
  }

  void move_earlier(WeightSlots weights) {
    std::vector<HeldLevels> levels;
    std::int64_t cap = 0;
    std::int64_t end = 0;
    for (const SlotRow& row : rows_) {
      cap = std::max(cap, levels.emplace_back(row, weights).peak());
      end = std::max(end, row.end());
    }
    enum class Phase : std::uint8_t { WarmUp, Steady, CoolDown } phase = Phase::WarmUp;
    for (std::int64_t slot = 0; slot < end; ++slot) {
      for (std::int64_t device = 0; device < devices(); ++device) {
        if (slot >= row(device).end() || row(device)[slot].pass == VPass::Idle) continue;
        const VSlot& pass = row(device)[slot];
        if (phase == Phase::WarmUp && pass.pass == VPass::Input0 && device == 0) phase = Phase::Steady;
        if (phase == Phase::Steady && pass.pass == VPass::Forward0 && pass.number == microbatches_ - 1) {
          phase = Phase::CoolDown;
          continue;
        }
        const bool keeps = phase == Phase::WarmUp && weights == WeightSlots::InIdleSlots;
        if (phase != Phase::Steady && !keeps) move_within(device, slot, cap, levels[static_cast<std::size_t>(device)]);
      }
    }
  }

  /// Moves the pass to the earliest idle slot that its inputs and the cap allow.
  void move_within(std::int64_t device, std::int64_t slot, std::int64_t cap, HeldLevels& levels) {
    SlotRow& own = row(device);
    for (std::int64_t to = last_input(device, own[slot]) + 1; to < slot; ++to) {
      if (own[to].pass != VPass::Idle || !levels.allows(own, slot, to, cap)) continue;
      own.move(slot, to);
      levels.go_on(own, to);
      return;
    }
  }

  /// Runs the grid in its order with passes of one unit, each as early as its inputs allow.
  void squeeze() {
    const std::vector<SlotRow> order = std::exchange(rows_, std::vector<SlotRow>(rows_.size()));
    std::vector<std::int64_t> next(order.size());
    std::vector<std::vector<std::int64_t>> inputs(order.size());  // slots of the input halves by device
    for (bool goes_on = true; goes_on;) {
      goes_on = false;
      for (std::int64_t device = 0; device < devices(); ++device) {
        const auto own = static_cast<std::size_t>(device);
        for (; next[own] < order[own].end(); ++next[own]) {
          const VSlot& pass = order[own][next[own]];
          if (pass.pass == VPass::Idle) continue;
          const std::optional<std::int64_t> slot = earliest(device, pass, inputs[own]);
          if (!slot) break;
          row(device).put(*slot, pass);
          if (is_input(pass.pass)) inputs[own].push_back(*slot);
          goes_on = true;
        }
      }
    }
    for (std::size_t device = 0; device < order.size(); ++device) {
      STAGECRAFT_CHECK(next[device] == order[device].end(), "inputs come before their use");
    }
  }

  /// The slot of the row's next pass; none while an input has no slot.
  [[nodiscard]] std::optional<std::int64_t> earliest(std::int64_t device, const VSlot& pass,
                                                     const std::vector<std::int64_t>& inputs) const {
    std::int64_t slot = row(device).end();
    if (const auto from = giver(device, pass.pass)) {
      if (!row(*from).has(pass)) return std::nullopt;
      slot = std::max(slot, row(*from).at(pass.pass, pass.number) + 1);
    }
    if (pass.pass == VPass::Weight) slot = std::max(slot, inputs[static_cast<std::size_t>(pass.number)] + 1);
    return slot;
  }

  std::int64_t microbatches_;
  std::vector<SlotRow> rows_;  ///< by device
};

/// The row's passes as actions. Each idle slot takes a weight half, of the second stage before those of the first.
std::vector<Action> actions_of(const SlotRow& row, std::int64_t first, std::int64_t second) {
  std::vector<Action> actions;
  std::deque<std::int64_t> waiting_first;  // microbatches whose weight half has not run
  std::deque<std::int64_t> waiting_second;
  for (std::int64_t slot = 0; slot < row.end() || !waiting_first.empty() || !waiting_second.empty(); ++slot) {
    const VSlot pass = slot < row.end() ? row[slot] : VSlot{};
    const bool is_first = pass.pass == VPass::Forward0 || pass.pass == VPass::Input0;
    const std::int64_t stage = is_first ? first : second;
    if (is_forward(pass.pass)) actions.push_back(action_of(ActionKind::Forward, stage, pass.number));
    if (is_input(pass.pass)) {
      actions.push_back(action_of(ActionKind::BackwardInput, stage, pass.number));
      (is_first ? waiting_first : waiting_second).push_back(pass.number);
    }
    if (pass.pass != VPass::Idle) continue;
    const bool takes_first = waiting_second.empty();
    std::deque<std::int64_t>& waiting = takes_first ? waiting_first : waiting_second;
    if (waiting.empty()) continue;
    actions.push_back(action_of(ActionKind::BackwardWeight, takes_first ? first : second, waiting.front()));
    waiting.pop_front();
  }
  return actions;
}

}  // namespace

FixedOrders v_slot_orders(const FixedPipeline& pipeline, const std::function<SlotOffsets(std::int64_t)>& offsets) {
  SlotGrid grid(pipeline, offsets);
  grid.make_dense();
  FixedOrders orders;
  for (std::int64_t device = 0; device < pipeline.devices; ++device) {
    orders.push_back(
        actions_of(grid.rows()[static_cast<std::size_t>(device)], device, 2 * pipeline.devices - 1 - device));
  }
  return orders;
}

}  // namespace stagecraft
