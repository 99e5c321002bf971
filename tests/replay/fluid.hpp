#pragma once

#include "sim/base/error.hpp"
#include "sim/model/platform.hpp"
#include "tests/replay/runs.hpp"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <vector>

// The fluid model of the network worked out by its definition, on all links of all routes: what the replay's figures
// are held to.
namespace stagecraft::test {

struct FluidTransfer {
  std::uint32_t from = 0;
  std::uint32_t to = 0;
  double start = 0.0;
  std::int64_t bytes = 0;
  std::uint8_t transfer_class = 0;
};

/// A transfer from its start on; its first byte leaves at `begin`.
struct Fluid {
  std::vector<LinkId> links;
  double start = 0.0;
  double begin = 0.0;
  double left = 0.0;
  std::uint8_t transfer_class = 0;
  double rate = 0.0;
  double end = -1.0;
};

/// Max-min fair rates by progressive filling: the link that has least for each of its undecided flows decides theirs.
inline void share(const Platform& platform, std::vector<Fluid*> flows) {
  std::vector<double> free;
  for (const Link& link : platform.links) free.push_back(link.bandwidth.value());
  while (!flows.empty()) {
    std::vector<double> wanted(free.size());
    for (const Fluid* flow : flows) {
      for (LinkId link : flow->links) ++wanted[link.value()];
    }
    double least = std::numeric_limits<double>::infinity();
    std::size_t tightest = 0;
    for (std::size_t link = 0; link < free.size(); ++link) {
      if (wanted[link] == 0.0 || free[link] / wanted[link] >= least) continue;
      least = free[link] / wanted[link];
      tightest = link;
    }
    std::erase_if(flows, [&](Fluid* flow) {
      if (std::ranges::find(flow->links, LinkId(tightest)) == flow->links.end()) return false;
      flow->rate = least;
      for (LinkId link : flow->links) free[link.value()] -= least;
      return true;
    });
  }
}

/// Whether a transfer of a smaller class that does not rest itself uses one of the links, from its start to its end.
/// The transfers are sorted by class.
inline bool rests(const Fluid& fluid, const std::vector<Fluid>& all, const std::vector<bool>& rest, double now) {
  for (std::size_t i = 0; i < rest.size() && all[i].transfer_class < fluid.transfer_class; ++i) {
    if (rest[i] || all[i].end >= 0.0 || all[i].start > now) continue;
    for (LinkId link : all[i].links) {
      if (std::ranges::find(fluid.links, link) != fluid.links.end()) return true;
    }
  }
  return false;
}

/// When each transfer ends, by letting the fluid run from one start or end to the next.
/// **Requires** the transfers in the order of their classes.
inline std::vector<double> expected_ends(const Platform& platform, const std::vector<FluidTransfer>& transfers) {
  std::vector<Fluid> fluids;
  Route route;
  for (const FluidTransfer& transfer : transfers) {
    if (!find_route(platform, PlaceId(transfer.from), PlaceId(transfer.to), route)) throw InternalError("no way");
    fluids.push_back({route.links, transfer.start, transfer.start + route.latency.value(),
                      static_cast<double>(transfer.bytes), transfer.transfer_class});
  }
  double now = 0.0;
  for (;;) {
    std::vector<Fluid*> flowing;
    double next = std::numeric_limits<double>::infinity();
    std::vector<bool> rest;
    for (Fluid& fluid : fluids) {
      rest.push_back(rests(fluid, fluids, rest, now));
      if (fluid.end >= 0.0) continue;
      if (fluid.start > now) next = std::min(next, fluid.start);
      if (fluid.begin > now) next = std::min(next, fluid.begin);
      if (fluid.begin <= now && !rest.back()) flowing.push_back(&fluid);
    }
    share(platform, flowing);
    for (const Fluid* fluid : flowing) next = std::min(next, now + fluid->left / fluid->rate);
    if (next == std::numeric_limits<double>::infinity()) break;
    for (Fluid* fluid : flowing) {
      const bool ends = now + fluid->left / fluid->rate <= next * (1 + 1e-14);
      fluid->left -= fluid->rate * (next - now);
      if (ends) fluid->end = next;
    }
    now = next;
  }
  std::vector<double> ends;
  for (const Fluid& fluid : fluids) ends.push_back(fluid.end);
  return ends;
}

/// The same by the replay.
inline std::vector<double> replayed_ends(const Platform& platform, const std::vector<FluidTransfer>& transfers) {
  Work work(static_cast<std::uint32_t>(platform.devices.size()));
  std::vector<OpId> ids;
  for (const FluidTransfer& transfer : transfers) {
    const OpId wait = work.delay(transfer.start);
    ids.push_back(work.send(transfer.from, transfer.to, transfer.bytes, {wait}, transfer.transfer_class));
  }
  const Times times = replayed(platform, work);
  std::vector<double> ends;
  for (OpId id : ids) ends.push_back(times.at(id).second);
  return ends;
}

}  // namespace stagecraft::test
