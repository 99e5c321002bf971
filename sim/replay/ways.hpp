#pragma once

#include "sim/base/index.hpp"
#include "sim/base/quantity.hpp"
#include "sim/model/events.hpp"
#include "sim/model/platform.hpp"

#include <cstdint>
#include <deque>
#include <span>
#include <unordered_map>
#include <vector>

namespace stagecraft {

/// What a replay knows of the route from one place to another.
struct Way {
  Seconds latency;
  BytesPerSecond narrowest;           ///< at present
  std::vector<LinkId> links;          ///< each once
  std::vector<std::uint32_t> shared;  ///< network links its flows cross; empty: nothing but time limits a transfer
};

/// The routes in use and the links that the network has to know for them.
///
/// A link is left out only where that changes nothing. An exclusive link has one transfer at a time, so all it does is
/// bound that transfer's rate; on a route with a fair link that is no wider it never binds, and on a route without any
/// fair link the duration follows from the narrowest link. Where a link of the route changes its bandwidth during the
/// run, every link stays.
class Ways {
 public:
  /// The devices in `used`, or all if there are none, and their hosts are the only ends of transfers.
  Ways(const Platform& platform, const Events& events, std::span<const DeviceId> used);

  /// **Requires** two different connected places. The reference lasts.
  [[nodiscard]] const Way& between(PlaceId from, PlaceId to);
  /// Enters a new bandwidth.
  void set_bandwidth(LinkId link, BytesPerSecond bandwidth);
  /// The network's link for a platform's link; `kNotInNetwork` if it is left out everywhere.
  [[nodiscard]] std::uint32_t network_link(LinkId link) const { return network_link_[link.value()]; }
  /// By network link.
  [[nodiscard]] std::span<const BytesPerSecond> network_bandwidths() const { return network_bandwidths_; }

  static constexpr std::uint32_t kNotInNetwork = 0xffffffff;

 private:
  void enter_network(LinkId link);
  void enter_links_of(std::span<const DeviceId> used);
  [[nodiscard]] std::vector<LinkId> shared_links(const std::vector<LinkId>& route) const;
  [[nodiscard]] BytesPerSecond narrowest(const std::vector<LinkId>& links) const;

  const Platform& platform_;
  std::vector<BytesPerSecond> bandwidths_;  ///< by LinkId, at present
  std::vector<char> changes_;               ///< by LinkId: during the run
  std::vector<std::uint32_t> network_link_;
  std::vector<BytesPerSecond> network_bandwidths_;
  std::unordered_map<std::uint64_t, std::uint32_t> index_;
  std::deque<Way> ways_;
  std::uint64_t last_key_ = ~std::uint64_t{0};
  const Way* last_ = nullptr;
  Route route_;
};

}  // namespace stagecraft
