#pragma once

#include "sim/base/index.hpp"
#include "sim/base/quantity.hpp"
#include "sim/model/events.hpp"
#include "sim/model/platform.hpp"
#include "sim/replay/simgrid_network.hpp"

#include <cstdint>
#include <deque>
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

/// The routes in use. The network learns of a link when a route first needs it there.
///
/// A link is left out of the network only where that changes nothing. A fair link that is no narrower than what the
/// links nearer to the devices can bring or take (`Link::load_limit`) is never full before them: the rates that the
/// remaining links allow are those that all links allow, and so is the fairest choice among them. An exclusive link has
/// one transfer at a time, so all it does is bound that transfer's rate; on a route where a fair link stays that is no
/// wider it never binds, and on a route where none stays the duration follows from the narrowest link. Where bandwidths
/// change during the run, every fair link stays, and on a route with such a change every link.
class Ways {
 public:
  /// `platform` and `network` must outlive the ways.
  Ways(const Platform& platform, const Events& events, FlowNetwork& network);

  /// **Requires** two different connected places. The reference lasts.
  [[nodiscard]] const Way& between(PlaceId from, PlaceId to);
  /// From now on the link carries this much.
  void set_bandwidth(LinkId link, BytesPerSecond bandwidth);

 private:
  [[nodiscard]] Way find_way(PlaceId from, PlaceId to);
  [[nodiscard]] std::vector<LinkId> shared_links(const std::vector<LinkId>& route) const;
  [[nodiscard]] BytesPerSecond narrowest(const std::vector<LinkId>& links) const;
  [[nodiscard]] bool stays(const Link& link) const;
  [[nodiscard]] std::uint32_t network_link(LinkId link);

  const Platform& platform_;
  FlowNetwork& network_;
  std::vector<BytesPerSecond> bandwidths_;   ///< by LinkId, at present
  std::vector<char> changes_;                ///< by LinkId: during the run
  bool bandwidths_change_ = false;           ///< some do
  std::vector<std::uint32_t> network_link_;  ///< by LinkId
  std::unordered_map<std::uint64_t, std::uint32_t> index_;
  std::deque<Way> ways_;
  std::uint64_t last_key_ = ~std::uint64_t{0};
  const Way* last_ = nullptr;
  Route route_;
};

}  // namespace stagecraft
