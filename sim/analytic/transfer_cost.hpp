#pragma once

#include "sim/model/op_graph.hpp"
#include "sim/model/platform.hpp"

#include <algorithm>
#include <cstdint>
#include <vector>

namespace stagecraft {

/// The latency and narrowest bandwidth of the routes of a run, found once for each pair of places.
class TransferCost {
 public:
  explicit TransferCost(const Platform& platform) : platform_(platform) {}

  /// Time of a transfer that has its route to itself: latency + bytes / narrowest bandwidth; nothing on one place. Of
  /// its latency, what has passed while it `waited` for its connection is over. The flows of a collective share links,
  /// so each takes at least its `seconds`.
  [[nodiscard]] Seconds operator()(const Op& op, Seconds waited = Seconds(0)) {
    if (op.literal) return op.seconds;
    if (op.from == op.to) return Seconds(0);
    const std::uint64_t key = route_key(op);
    const Entry* entry = &slot(key);
    if (entry->key != key) entry = &look_up(key, op);
    return std::max(latency_left(entry->latency, waited) + op.bytes / entry->bandwidth, op.seconds);
  }

 private:
  static constexpr std::uint64_t kFree = ~std::uint64_t{0};
  struct Entry {
    std::uint64_t key = kFree;
    Seconds latency;
    BytesPerSecond bandwidth;
  };
  /// The pair's entry, or the free entry where it belongs.
  [[nodiscard]] Entry& slot(std::uint64_t key) {
    std::size_t at = (key * 0x9E3779B97F4A7C15U) >> 32;  // Fibonacci hashing
    for (;; ++at) {
      Entry& entry = entries_[at & (entries_.size() - 1)];
      if (entry.key == key || entry.key == kFree) return entry;
    }
  }
  const Entry& look_up(std::uint64_t key, const Op& op);

  const Platform& platform_;
  Route route_;
  std::vector<Entry> entries_ = std::vector<Entry>(64);  ///< open addressing; a power of two, at most half full
  std::size_t pairs_ = 0;
};

}  // namespace stagecraft
