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
};

/// A transfer between its first byte and its last.
struct Fluid {
  std::vector<LinkId> links;
  double begin = 0.0;
  double left = 0.0;
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

/// When each transfer ends, by letting the fluid run from one start or end to the next.
inline std::vector<double> expected_ends(const Platform& platform, const std::vector<FluidTransfer>& transfers) {
  std::vector<Fluid> fluids;
  Route route;
  for (const FluidTransfer& transfer : transfers) {
    if (!find_route(platform, PlaceId(transfer.from), PlaceId(transfer.to), route)) throw InternalError("no way");
    fluids.push_back({route.links, transfer.start + route.latency.value(), static_cast<double>(transfer.bytes)});
  }
  double now = 0.0;
  for (;;) {
    std::vector<Fluid*> flowing;
    double next = std::numeric_limits<double>::infinity();
    for (Fluid& fluid : fluids) {
      if (fluid.end >= 0.0) continue;
      if (fluid.begin > now) next = std::min(next, fluid.begin);
      if (fluid.begin <= now) flowing.push_back(&fluid);
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
    ids.push_back(work.send(transfer.from, transfer.to, transfer.bytes, {wait}));
  }
  const Times times = replayed(platform, work);
  std::vector<double> ends;
  for (OpId id : ids) ends.push_back(times.at(id).second);
  return ends;
}

}  // namespace stagecraft::test
