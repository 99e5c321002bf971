#include "sim/engine/time_window.hpp"

#include <algorithm>
#include <utility>

namespace stagecraft {

void TimeWindow::open(Seconds begin) {
  state_ = State::Open;
  begin_ = begin;
  for (const Piece& piece : std::exchange(early_, {})) {
    if (piece.end >= begin) pending_.push(piece);
  }
}

void TimeWindow::close(Seconds end) {
  state_ = State::Closed;
  end_ = end;
  while (!pending_.empty()) {
    settle(pending_.top());
    pending_.pop();
  }
}

void TimeWindow::add(const Piece& piece, Seconds end_bound) {
  switch (state_) {
    case State::Before: early_.push_back(piece); break;
    case State::Closed: settle(piece); break;
    case State::Open:
      pending_.push(piece);
      while (!pending_.empty() && pending_.top().end <= end_bound) {
        settle(pending_.top());
        pending_.pop();
      }
      break;
  }
}

/// Counts the share of a piece that lies in the window.
void TimeWindow::settle(const Piece& piece) {
  const Seconds begin = std::max(piece.begin, begin_);
  const Seconds end = std::min(piece.end, end_);
  const bool instant = piece.begin == piece.end;
  if (end < begin || (!instant && end == begin)) return;
  if (piece.account >= sums_.size()) sums_.resize(piece.account + 1);
  sums_[piece.account] += instant ? piece.amount : piece.amount * ((end - begin) / (piece.end - piece.begin));
}

}  // namespace stagecraft
