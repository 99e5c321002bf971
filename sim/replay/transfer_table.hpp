#pragma once

#include "sim/engine/clock.hpp"
#include "sim/replay/ways.hpp"

#include <cstdint>
#include <optional>
#include <vector>

namespace stagecraft {

/// A transfer under way over shared links.
struct Transfer {
  enum class State : std::uint8_t {
    Free,      ///< no transfer: the place in the table is free
    Held,      ///< it is stopped before its latency has passed
    Latency,   ///< its latency has not passed yet
    Waiting,   ///< it rests before its first byte
    Alone,     ///< it has all its links to itself and ends at `end_alone`
    Entering,  ///< it becomes a flow as soon as the network has reached the present
    Flowing,   ///< it is a flow of the network
  } state = State::Free;
  bool rests = false;                 ///< gives way to another, or is stopped
  std::optional<Seconds> stopped_at;  ///< if a link of its route is down: since when
  std::uint8_t transfer_class = 0;
  std::uint32_t number = 0;
  std::uint32_t serial = 0;  ///< tells apart the transfers that have had this number
  std::uint32_t flow = 0;    ///< while it flows
  Start start;
  double left = 0.0;         ///< remaining bytes when it becomes a flow
  Seconds first_byte;        ///< when its latency has passed
  Seconds end_alone;         ///< when it ends if it never shares a link
  BytesPerSecond narrowest;  ///< the bandwidth that `end_alone` assumes
  const Way* way = nullptr;

  [[nodiscard]] bool is_in_network() const { return state == State::Entering || state == State::Flowing; }
};

/// The transfers under way, by number. Numbers are reused.
class TransferTable {
 public:
  /// Makes a place for a transfer and sets its number and serial; the caller sets everything else. References to other
  /// transfers become invalid.
  [[nodiscard]] Transfer& add() {
    if (free_.empty()) {
      Transfer& transfer = transfers_.emplace_back();
      transfer.number = static_cast<std::uint32_t>(transfers_.size() - 1);
      return transfer;
    }
    Transfer& transfer = transfers_[free_.back()];
    free_.pop_back();
    return transfer;
  }
  void remove(Transfer& transfer) {
    transfer.state = Transfer::State::Free;
    ++transfer.serial;
    free_.push_back(transfer.number);
  }
  [[nodiscard]] Transfer& operator[](std::uint64_t number) { return transfers_[number]; }
  /// The transfer under this number, if it is in `state` and still the one of this serial; else null.
  [[nodiscard]] Transfer* find(std::uint64_t number, std::uint32_t serial, Transfer::State state) {
    Transfer& transfer = transfers_[number];
    return transfer.state == state && transfer.serial == serial ? &transfer : nullptr;
  }
  /// All places in the order of their numbers, the free ones included.
  [[nodiscard]] std::vector<Transfer>& places() { return transfers_; }

 private:
  std::vector<Transfer> transfers_;
  std::vector<std::uint32_t> free_;
};

}  // namespace stagecraft
