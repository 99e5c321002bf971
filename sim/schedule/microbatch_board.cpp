#include "sim/schedule/microbatch_board.hpp"

#include "sim/base/error.hpp"

#include <algorithm>

namespace stagecraft {

MicrobatchBoard::Entry& MicrobatchBoard::at(std::int64_t index) {
  STAGECRAFT_CHECK(index >= begin_, "a microbatch is not asked for after its end");
  if (index >= end_) grow(index);
  return entries_[slot(index)];
}

/// Makes entries up to `index`, in the ring as long as it has room.
void MicrobatchBoard::grow(std::int64_t index) {
  const auto needed = static_cast<std::size_t>(index + 1 - begin_);
  if (needed > entries_.size()) {
    std::size_t capacity = std::max<std::size_t>(entries_.size(), 8);
    while (capacity < needed) capacity *= 2;
    MicrobatchBoard larger(forward_inputs_, backward_inputs_);
    larger.entries_.resize(capacity);
    larger.forward_ops_.resize(capacity * forward_inputs_);
    larger.backward_ops_.resize(capacity * backward_inputs_);
    for (std::int64_t i = begin_; i < end_; ++i) {
      larger.entries_[larger.slot(i)] = entries_[slot(i)];
      std::ranges::copy(forward_inputs(i), larger.forward_inputs(i).begin());
      std::ranges::copy(backward_inputs(i), larger.backward_inputs(i).begin());
    }
    entries_ = std::move(larger.entries_);
    forward_ops_ = std::move(larger.forward_ops_);
    backward_ops_ = std::move(larger.backward_ops_);
  }
  for (; end_ <= index; ++end_) entries_[slot(end_)] = Entry{};
}

std::span<OpId> MicrobatchBoard::forward_inputs(std::int64_t index) {
  return std::span(forward_ops_).subspan(slot(index) * forward_inputs_, forward_inputs_);
}

std::span<OpId> MicrobatchBoard::backward_inputs(std::int64_t index) {
  return std::span(backward_ops_).subspan(slot(index) * backward_inputs_, backward_inputs_);
}

void MicrobatchBoard::arrive_forward(std::int64_t index, OpId op) {
  Entry& entry = at(index);
  STAGECRAFT_CHECK(entry.forward_arrived < forward_inputs_, "an input arrives once");
  forward_inputs(index)[entry.forward_arrived++] = op;
}

void MicrobatchBoard::arrive_backward(std::int64_t index, OpId op) {
  Entry& entry = at(index);
  STAGECRAFT_CHECK(entry.backward_arrived < backward_inputs_, "a gradient arrives once");
  backward_inputs(index)[entry.backward_arrived++] = op;
}

void MicrobatchBoard::finish(std::int64_t index) {
  at(index).finished = true;
  while (begin_ < end_ && entries_[slot(begin_)].finished) ++begin_;
}

void MicrobatchBoard::restart(std::int64_t index) {
  begin_ = std::max(begin_, index);
  end_ = std::max(end_, begin_);
}

OpId MicrobatchBoard::oldest() const {
  OpId oldest = OpId::none();
  for (std::int64_t i = begin_; i < end_; ++i) {
    const Entry& entry = entries_[slot(i)];
    for (OpId op : {entry.forward, entry.input, entry.swap_out, entry.swap_in}) oldest = std::min(oldest, op);
    for (std::uint32_t k = 0; k < entry.forward_arrived; ++k) {
      oldest = std::min(oldest, forward_ops_[slot(i) * forward_inputs_ + k]);
    }
    for (std::uint32_t k = 0; k < entry.backward_arrived; ++k) {
      oldest = std::min(oldest, backward_ops_[slot(i) * backward_inputs_ + k]);
    }
  }
  return oldest;
}

}  // namespace stagecraft
