#include "sim/schedule/microbatch_board.hpp"

#include <algorithm>
#include <cstddef>
#include <utility>

namespace stagecraft {

/// Copies the ring buffer into one of another capacity, a power of two, and other widths. Both are no smaller.
void MicrobatchBoard::move_into(std::size_t capacity, const BoardWidths& widths) {
  MicrobatchBoard larger(widths);
  larger.begin_ = begin_;
  larger.end_ = end_;
  larger.held_ = std::move(held_);
  larger.next_ = next_;
  larger.entries_.resize(capacity);
  larger.forward_ops_.resize(capacity * widths.forward_inputs);
  larger.backward_ops_.resize(capacity * widths.backward_inputs);
  larger.swap_outs_.resize(capacity * widths.swapped);
  larger.swap_ins_.resize(capacity * widths.swapped);
  for (std::int64_t i = begin_; i < end_; ++i) {
    larger.entries_[larger.slot(i)] = entries_[slot(i)];
    std::ranges::copy(forward_inputs(i), larger.forward_inputs(i).begin());
    std::ranges::copy(backward_inputs(i), larger.backward_inputs(i).begin());
    std::ranges::copy(swap_outs(i), larger.swap_outs(i).begin());
    std::ranges::copy(swap_ins(i), larger.swap_ins(i).begin());
  }
  *this = std::move(larger);
}

void MicrobatchBoard::widen(const BoardWidths& other) {
  move_into(entries_.size(),
            {std::max(widths_.forward_inputs, other.forward_inputs),
             std::max(widths_.backward_inputs, other.backward_inputs), std::max(widths_.swapped, other.swapped)});
}

/// Makes entries up to `index`. The ring buffer grows to twice its size or more if it is too small.
void MicrobatchBoard::grow(std::int64_t index) {
  const auto needed = static_cast<std::size_t>(index + 1 - begin_);
  if (needed > entries_.size()) {
    std::size_t capacity = std::max<std::size_t>(entries_.size(), 8);
    while (capacity < needed) capacity *= 2;
    move_into(capacity, widths_);
  }
  for (; end_ <= index; ++end_) {
    entries_[slot(end_)] = Entry{};
    std::ranges::fill(swap_outs(end_), OpId::none());
    std::ranges::fill(swap_ins(end_), OpId::none());
  }
}

std::span<OpId> MicrobatchBoard::swap_outs(std::int64_t index) { return part(swap_outs_, index, widths_.swapped); }
std::span<OpId> MicrobatchBoard::swap_ins(std::int64_t index) { return part(swap_ins_, index, widths_.swapped); }

void MicrobatchBoard::finish(std::int64_t index) {
  at(index).finished = true;
  while (begin_ < end_ && entries_[slot(begin_)].finished) ++begin_;
  release();
}

void MicrobatchBoard::restart(std::int64_t index) {
  begin_ = std::max(begin_, index);
  end_ = std::max(end_, begin_);
  release();
}

/// Forgets the first operations of entries that are not live, up to that of a live one.
void MicrobatchBoard::release() {
  while (next_ < held_.size() && held_[next_].index < begin_) ++next_;
  if (2 * next_ <= held_.size()) return;
  held_.erase(held_.begin(), held_.begin() + static_cast<std::ptrdiff_t>(next_));
  next_ = 0;
}

}  // namespace stagecraft
