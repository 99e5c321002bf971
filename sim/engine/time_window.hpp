#pragma once

#include "sim/base/quantity.hpp"

#include <cstdint>
#include <queue>
#include <vector>

namespace stagecraft {

/// A period of time with an amount that counts towards one account: a device's time of one kind, or bytes on a route.
struct Piece {
  std::uint32_t account = 0;
  Seconds begin;
  Seconds end;
  double amount = 0.0;  ///< spread evenly from begin to end
};

/// Sums pieces over a window whose two ends become known only while the pieces arrive. Only the part of a piece inside
/// the window counts, in proportion to its time.
class TimeWindow {
 public:
  /// Opens the window; pieces given before are cut at `begin`.
  void open(Seconds begin);
  /// Closes it.
  void close(Seconds end);
  /// `end_bound` is no later than the window's end, as far as the caller knows; pieces that end by then are summed at
  /// once, so that memory does not grow with the window.
  void add(const Piece& piece, Seconds end_bound);

  [[nodiscard]] double sum(std::uint32_t account) const { return account < sums_.size() ? sums_[account] : 0.0; }
  [[nodiscard]] Seconds begin() const { return begin_; }
  [[nodiscard]] Seconds end() const { return end_; }
  [[nodiscard]] bool is_open() const { return state_ == State::Open; }
  [[nodiscard]] bool is_closed() const { return state_ == State::Closed; }

 private:
  enum class State { Before, Open, Closed };
  struct LaterEnd {
    bool operator()(const Piece& a, const Piece& b) const { return a.end > b.end; }
  };
  void settle(const Piece& piece);

  State state_ = State::Before;
  Seconds begin_;
  Seconds end_ = kNever;
  std::vector<Piece> early_;                                          ///< pieces given before the window is open
  std::priority_queue<Piece, std::vector<Piece>, LaterEnd> pending_;  ///< may cross the end, which is not known yet
  std::vector<double> sums_;
};

}  // namespace stagecraft
