#pragma once

#include "sim/engine/measured_sums.hpp"
#include "sim/engine/place_pairs.hpp"
#include "sim/model/op_graph.hpp"
#include "sim/model/platform.hpp"
#include "sim/model/report.hpp"
#include "sim/model/timeline.hpp"

#include <cstdint>
#include <vector>

namespace stagecraft {

/// Sums the bytes that cross links in the measured part of a run. It keeps them by pair of places, since a pair is
/// found faster than the links of its route. All calls take the same `sums`.
class LinkTraffic {
 public:
  /// **Requires** a transfer that crosses links.
  void add(const Span& span, const Op& transfer, MeasuredSums& sums) {
    const std::uint32_t pair = pairs_.number_of(transfer);
    if (pair == accounts_.size()) accounts_.push_back(sums.open_accounts(1));
    sums.add({accounts_[pair], span.start, span.end, static_cast<double>(transfer.bytes.value())});
  }
  /// The links that carried something in the measured part, without how busy they were.
  [[nodiscard]] std::vector<LinkReport> report(const Platform& platform, const MeasuredSums& sums) const;

 private:
  PlacePairs pairs_;
  std::vector<std::uint32_t> accounts_;  ///< by pair
};

}  // namespace stagecraft
