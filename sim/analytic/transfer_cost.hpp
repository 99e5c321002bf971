#pragma once

#include "sim/model/op_graph.hpp"
#include "sim/model/platform.hpp"

#include <array>
#include <cstdint>

namespace stagecraft {

/// Latency and narrowest bandwidth of the routes of a run, found once for each pair in use.
class TransferCost {
 public:
  explicit TransferCost(const Platform& platform) : platform_(platform) {}

  /// Time of a transfer that has its route to itself: latency + bytes / narrowest bandwidth; nothing on one place.
  [[nodiscard]] Seconds operator()(const Op& op) {
    if (op.literal) return op.seconds;
    if (op.from == op.to) return Seconds(0);
    const std::uint64_t key = (std::uint64_t{op.from.value()} << 32) | op.to.value();
    Entry& entry = entries_[(key ^ (key >> 29)) % entries_.size()];
    if (entry.key != key) look_up(entry, key, op);
    return entry.latency + op.bytes / entry.bandwidth;
  }

 private:
  struct Entry {
    std::uint64_t key = ~std::uint64_t{0};
    Seconds latency;
    BytesPerSecond bandwidth;
  };
  void look_up(Entry& entry, std::uint64_t key, const Op& op);

  const Platform& platform_;
  Route route_;
  std::array<Entry, 1021> entries_;  ///< direct-mapped
};

}  // namespace stagecraft
