#pragma once

#include "sim/base/index.hpp"
#include "sim/base/quantity.hpp"
#include "sim/model/events.hpp"
#include "sim/model/op_graph.hpp"
#include "sim/model/platform.hpp"
#include "sim/replay/simgrid_network.hpp"

#include <cstdint>
#include <deque>
#include <unordered_map>
#include <vector>

namespace stagecraft {

/// The route from one place to another, as a replay needs it.
struct Way {
  Seconds latency;
  BytesPerSecond narrowest;           ///< present bandwidth of its narrowest link
  std::vector<LinkId> links;          ///< each once
  std::vector<std::uint32_t> shared;  ///< network links that its flows cross; empty: other transfers never slow it down
  bool may_fail = false;              ///< whether a link of it fails during the run
};

/// The routes in use. The network learns of a link when a route first needs it there.
///
/// The network has only those links of a route that can matter. A link is left out if that does not change any rate:
/// - A fair link is left out if it is no narrower than what the links nearer to the devices can bring to it or take
/// from
///   it (`Link::load_limit`). It is never full before them, so the remaining links allow the same rates, and max-min
///   fairness chooses the same ones.
/// - An exclusive link carries one transfer at a time, so it only bounds the rate of that transfer. It is left out if a
///   fair link that is no wider stays on the route. If no fair link stays, all exclusive links are left out as well:
///   the duration then follows from the narrowest link.
/// - If bandwidths change during the run, every fair link stays. On a route with such a change, or with a link that
///   fails, every link stays.
class Ways {
 public:
  /// `platform` and `network` must outlive the ways.
  Ways(const Platform& platform, const Events& events, FlowNetwork& network);

  /// **Requires** a transfer between two different connected places. The reference lasts.
  [[nodiscard]] const Way& of(const Op& transfer);
  /// Changes the link's bandwidth from now on.
  void set_bandwidth(LinkId link, BytesPerSecond bandwidth);

 private:
  [[nodiscard]] Way find_way(const Op& transfer);
  [[nodiscard]] std::vector<LinkId> shared_links(const std::vector<LinkId>& route) const;
  [[nodiscard]] BytesPerSecond narrowest(const std::vector<LinkId>& links) const;
  [[nodiscard]] bool stays(const Link& link) const;
  [[nodiscard]] std::uint32_t network_link(LinkId link);

  const Platform& platform_;
  FlowNetwork& network_;
  std::vector<BytesPerSecond> bandwidths_;   ///< by LinkId: its present bandwidth
  std::vector<char> changes_;                ///< by LinkId: whether its bandwidth changes during the run, or it fails
  std::vector<char> fails_;                  ///< by LinkId: whether it fails during the run
  bool bandwidths_change_ = false;           ///< whether any bandwidth changes
  std::vector<std::uint32_t> network_link_;  ///< by LinkId
  std::unordered_map<std::uint64_t, std::uint32_t> index_;
  std::deque<Way> ways_;
  std::uint64_t last_key_ = ~std::uint64_t{0};
  const Way* last_ = nullptr;
  Route route_;
};

}  // namespace stagecraft
