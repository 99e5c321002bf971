#pragma once

#include "sim/base/error.hpp"
#include "sim/model/platform.hpp"
#include "tests/replay/runs.hpp"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <variant>
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

/// Whether the transfer has started and a link of its route is down.
inline bool stands_still(const Fluid& fluid, const Events& failures, double now) {
  return fluid.start <= now && std::ranges::any_of(failures, [&](const Event& event) {
           const auto& failure = std::get<LinkFailure>(event.change);
           const bool is_down = event.at.value() <= now && now < (event.at + failure.duration).value();
           return is_down && std::ranges::find(fluid.links, failure.link) != fluid.links.end();
         });
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

/// When each transfer ends, by letting the fluid run from one start or end to the next. Links may fail meanwhile.
/// **Requires** the transfers in the order of their classes.
inline std::vector<double> expected_ends(const Platform& platform, const std::vector<FluidTransfer>& transfers,
                                         const Events& failures = {}) {
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
    for (const Event& event : failures) {
      for (const Seconds at : {event.at, event.at + std::get<LinkFailure>(event.change).duration}) {
        if (at.value() > now) next = std::min(next, at.value());
      }
    }
    std::vector<bool> rest;
    std::vector<Fluid*> still;
    for (Fluid& fluid : fluids) {
      if (fluid.end < 0.0 && stands_still(fluid, failures, now)) still.push_back(&fluid);
      const bool is_still = !still.empty() && still.back() == &fluid;
      rest.push_back(is_still || rests(fluid, fluids, rest, now));
      if (fluid.end >= 0.0 || is_still) continue;
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
    for (Fluid* fluid : still) {
      if (fluid->begin > now) fluid->begin += next - now;
    }
    now = next;
  }
  std::vector<double> ends;
  for (const Fluid& fluid : fluids) ends.push_back(fluid.end);
  return ends;
}

/// The same by the replay.
inline std::vector<double> replayed_ends(const Platform& platform, const std::vector<FluidTransfer>& transfers,
                                         const Events& failures = {}) {
  Work work(static_cast<std::uint32_t>(platform.devices.size()));
  std::vector<OpId> ids;
  for (const FluidTransfer& transfer : transfers) {
    const OpId wait = work.delay(transfer.start);
    ids.push_back(work.send(transfer.from, transfer.to, transfer.bytes, {wait}, transfer.transfer_class));
  }
  const Times times = replayed(platform, work, failures);
  std::vector<double> ends;
  for (OpId id : ids) ends.push_back(times.at(id).second);
  return ends;
}

}  // namespace stagecraft::test
