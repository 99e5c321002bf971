#include "sim/schedule/flow_times.hpp"

#include "sim/base/error.hpp"
#include "sim/model/bandwidths.hpp"

#include <algorithm>
#include <map>
#include <utility>

namespace stagecraft {
namespace {

/// What the flows of a phase bring to a link.
struct LinkLoad {
  Seconds first = kNever;  ///< the least latency of a flow, before which no byte comes
  Seconds time;            ///< for which all their bytes take the whole of it
};

using LinkLoads = std::map<LinkId, LinkLoad>;

/// A flow that has its links to itself.
struct LoneFlow {
  Route route;
  Bytes bytes;
  Seconds time;  ///< with its latency
};

std::vector<LoneFlow> lone_flows(const Platform& platform, const AllReducePhase& phase, Bytes begin, Bytes end) {
  std::vector<LoneFlow> flows;
  for (const AllReduceFlow& flow : phase.flows) {
    LoneFlow lone{route_of(platform, flow), flow_bytes(platform, flow, begin, end), {}};
    const auto bandwidth = narrowest_bandwidth(platform, lone.route);
    lone.time = lone.route.latency + (bandwidth ? lone.bytes / *bandwidth : Seconds());
    flows.push_back(std::move(lone));
  }
  return flows;
}

bool is_exclusive(const Platform& platform, LinkId link) { return platform.links[link].sharing == Sharing::Exclusive; }

/// By link. An exclusive one is taken by one flow after the other, latency included.
LinkLoads loads_of(const Platform& platform, const std::vector<LoneFlow>& flows) {
  LinkLoads loads;
  for (const LoneFlow& flow : flows) {
    for (const LinkId link : flow.route.links) {
      LinkLoad& load = loads[link];
      const bool takes_turns = is_exclusive(platform, link);
      load.first = takes_turns ? Seconds() : std::min(load.first, flow.route.latency);
      load.time += takes_turns ? flow.time : flow.bytes / platform.links[link].bandwidth;
    }
  }
  return loads;
}

}  // namespace

double efficiency_of(const CollectiveSpec& spec, bool between) {
  return between ? spec.network_efficiency.value_or(spec.efficiency) : spec.efficiency;
}

double efficiency_of(const Platform& platform, const AllReduceFlow& flow) {
  const bool between = platform.devices[flow.from].node != platform.devices[flow.to].node;
  return efficiency_of(platform.spec.collectives, between);
}

Route route_of(const Platform& platform, const AllReduceFlow& flow) {
  Route route;
  if (flow.from == flow.to) return route;
  STAGECRAFT_CHECK(find_route(platform, platform.place(flow.from), platform.place(flow.to), route),
                   "replicas of a sound plan are connected");
  return route;
}

Bytes flow_bytes(const Platform& platform, const AllReduceFlow& flow, Bytes begin, Bytes end) {
  const Bytes own = share_up(end, flow.part, flow.of) - share_up(begin, flow.part, flow.of);
  return scale_up(own, 1.0 / efficiency_of(platform, flow));
}

std::vector<Seconds> flow_times(const Platform& platform, const AllReducePhase& phase, Bytes begin, Bytes end) {
  const std::vector<LoneFlow> flows = lone_flows(platform, phase, begin, end);
  const LinkLoads loads = loads_of(platform, flows);
  std::vector<Seconds> times;
  for (const LoneFlow& flow : flows) {
    Seconds time = flow.time;
    const auto takes_turns = [&](LinkId link) { return is_exclusive(platform, link); };
    if (std::ranges::none_of(flow.route.links, takes_turns)) {
      for (const LinkId link : flow.route.links) time = std::max(time, loads.at(link).first + loads.at(link).time);
    }
    times.push_back(time);
  }
  return times;
}

Seconds phase_time(const Platform& platform, const AllReducePhase& phase, Bytes begin, Bytes end) {
  const std::vector<LoneFlow> flows = lone_flows(platform, phase, begin, end);
  Seconds time;
  for (const LoneFlow& flow : flows) time = std::max(time, flow.time);
  for (const auto& [link, load] : loads_of(platform, flows)) time = std::max(time, load.first + load.time);
  return time;
}

Seconds latency_before(const Platform& platform, const AllReducePhase& phase) {
  Seconds latency;
  for (const AllReduceFlow& flow : phase.flows) latency = std::max(latency, route_of(platform, flow).latency);
  return latency * static_cast<double>(phase.steps - 1) + phase.latency;
}

}  // namespace stagecraft
