#pragma once

#include "sim/base/error.hpp"
#include "sim/base/index.hpp"

#include <cstdint>
#include <span>
#include <vector>

namespace stagecraft {

/// How many operations bring a forward's inputs and a backward's, and how many parts of the stash are swapped, at most.
struct BoardWidths {
  std::uint32_t forward_inputs = 0;
  std::uint32_t backward_inputs = 0;
  std::uint32_t swapped = 0;
};

/// Keeps for each live microbatch of one replica which operations bring its inputs, and which operations of its own
/// have been appended. A microbatch's index counts the microbatches that the replica runs. Entries lie in a ring buffer
/// from the oldest microbatch that is not finished on.
class MicrobatchBoard {
 public:
  struct Entry {
    std::uint32_t forward_arrived = 0;
    std::uint32_t backward_arrived = 0;
    OpId forward;  ///< none: not appended yet
    OpId input;    ///< the input-gradient half of a split backward, likewise
    bool finished = false;
  };

  MicrobatchBoard() = default;
  explicit MicrobatchBoard(const BoardWidths& widths) : widths_(widths) {}

  /// From now on microbatches may also have as many inputs and parts as `other` says.
  void widen(const BoardWidths& other);

  /// The microbatch's entry, made if there is none. **Requires** that the microbatch is not finished and dropped.
  [[nodiscard]] Entry& at(std::int64_t index) {
    STAGECRAFT_CHECK(index >= begin_, "a microbatch is not asked for after its end");
    if (index >= end_) grow(index);
    return entries_[slot(index)];
  }
  /// `op` brings one of the inputs of the forward, or of the backward.
  void arrive_forward(std::int64_t index, OpId op) {
    Entry& entry = hold(index, op);
    STAGECRAFT_CHECK(entry.forward_arrived < widths_.forward_inputs, "an input arrives once");
    part(forward_ops_, index, widths_.forward_inputs)[entry.forward_arrived++] = op;
  }
  void arrive_backward(std::int64_t index, OpId op) {
    Entry& entry = hold(index, op);
    STAGECRAFT_CHECK(entry.backward_arrived < widths_.backward_inputs, "a gradient arrives once");
    part(backward_ops_, index, widths_.backward_inputs)[entry.backward_arrived++] = op;
  }
  /// `op` is the forward.
  void note_forward(std::int64_t index, OpId op) { hold(index, op).forward = op; }
  /// Those that have arrived.
  [[nodiscard]] std::span<OpId> forward_inputs(std::int64_t index) {
    const std::uint32_t arrived = at(index).forward_arrived;
    return part(forward_ops_, index, widths_.forward_inputs).first(arrived);
  }
  [[nodiscard]] std::span<OpId> backward_inputs(std::int64_t index) {
    const std::uint32_t arrived = at(index).backward_arrived;
    return part(backward_ops_, index, widths_.backward_inputs).first(arrived);
  }
  /// For each part of the swapped stash, the copy to the host and the copy back; none until they are appended.
  [[nodiscard]] std::span<OpId> swap_outs(std::int64_t index);
  [[nodiscard]] std::span<OpId> swap_ins(std::int64_t index);
  /// The microbatch's backward is complete.
  void finish(std::int64_t index);
  /// A new iteration starts: entries below `index` are forgotten, even those of microbatches that never finished.
  void restart(std::int64_t index);
  [[nodiscard]] bool is_finished(std::int64_t index) { return index < begin_ || at(index).finished; }

  /// No live entry names an operation before it; `none` if none names any.
  [[nodiscard]] OpId oldest() const { return next_ < held_.size() ? held_[next_].first : OpId::none(); }

 private:
  /// An entry, and the first operation that it has named. Later ones have larger numbers, so the entries that name
  /// something are in the order of these.
  struct Held {
    std::int64_t index = 0;
    OpId first;
  };
  /// The entry, which is about to name `op`.
  [[nodiscard]] Entry& hold(std::int64_t index, OpId op) {
    Entry& entry = at(index);
    const bool is_first = entry.forward_arrived == 0 && entry.backward_arrived == 0 && entry.forward.is_none();
    if (!is_first) return entry;
    STAGECRAFT_CHECK(held_.empty() || held_.back().first <= op, "boards learn of operations in their order");
    held_.push_back({index, op});
    return entry;
  }
  void release();
  void grow(std::int64_t index);
  void move_into(std::size_t capacity, const BoardWidths& widths);
  [[nodiscard]] std::size_t slot(std::int64_t index) const {
    return static_cast<std::size_t>(index) & (entries_.size() - 1);
  }

  /// The operations that belong to one entry; each entry has `width` of them.
  [[nodiscard]] std::span<OpId> part(std::vector<OpId>& ops, std::int64_t index, std::uint32_t width) const {
    return std::span(ops).subspan(slot(index) * width, width);
  }

  BoardWidths widths_;
  std::int64_t begin_ = 0;  ///< entries before it are finished
  std::int64_t end_ = 0;
  std::vector<Entry> entries_;
  std::vector<Held> held_;
  std::size_t next_ = 0;           ///< the first of these that is live
  std::vector<OpId> forward_ops_;  ///< for each entry as many as `widths_` says; likewise the next three
  std::vector<OpId> backward_ops_;
  std::vector<OpId> swap_outs_;
  std::vector<OpId> swap_ins_;
};

}  // namespace stagecraft
