#include "planners/shared/costs/cost_model.hpp"
#include "planners/shared/costs/replica_bandwidths.hpp"
#include "planners/shared/costs/require_formula.hpp"
#include "planners/shared/savings/saving_pipeline.hpp"
#include "sim/base/error.hpp"
#include "sim/base/text.hpp"
#include "sim/model/graph_order.hpp"
#include "sim/model/replicas.hpp"
#include "sim/schedule/boundaries.hpp"
#include "sim/schedule/kept_plan.hpp"
#include "sim/schedule/schedule_family.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <optional>
#include <string>

namespace stagecraft {
namespace {

using StageDevices = std::vector<std::vector<DeviceId>>;

/// One layer in each stage but the last, which has all others. What a schedule keeps does not depend on the layers.
Plan trivial_plan(const PlannerInfo& planner, const PlanRequest& request, const StageDevices& devices) {
  Plan plan = empty_plan(planner, request);
  const std::vector<LayerId> order = canonical_order(request.graph);
  for (std::size_t s = 0; s < devices.size(); ++s) {
    Stage& stage = plan.stages.emplace_back();
    stage.layers = layers_in(order, s, s + 1 < devices.size() ? s + 1 : order.size());
    stage.replicas.assign(devices[s].begin(), devices[s].end());
  }
  plan.rounds_per_update = rounds_per_update(request, devices.front().size());
  return plan;
}

ScheduleProgram compile_for(const PlannerInfo& planner, const PlanRequest& request, const StageDevices& devices) {
  const std::string who = "planner " + quote(planner.name);
  require_straight(planner, request);
  require_formula(planner, request);
  ScheduleProgram program = require_schedule(request.graph, request.platform, trivial_plan(planner, request, devices));
  if (!program.reaches_in_flight) {
    throw InputError(who + " has to know how many microbatches are in flight before it cuts the model; in " +
                         quote(request.schedule.name) + " that depends on the cut",
                     {}, "choose pipedream, 1f1b, eager-1f1b or gpipe");
  }
  return program;
}

/// The links between a device and its host's memory, each with whether it is used in both directions; none if nothing
/// can be swapped there.
std::optional<std::map<LinkId, bool>> host_links(const Platform& platform, DeviceId device) {
  const HostId host = platform.devices[device].host;
  if (host.is_none()) return std::nullopt;
  Route out;
  Route in;
  if (!find_route(platform, platform.place(device), platform.place(host), out) ||
      !find_route(platform, platform.place(host), platform.place(device), in)) {
    return std::nullopt;
  }
  std::map<LinkId, bool> links;
  for (LinkId link : out.links) links[link] = false;
  for (LinkId link : in.links) {
    const bool both = links.contains(link);
    links[link] = both;
  }
  return links;
}

/// The bandwidth from each stage's replicas to the next one's, the smaller of both directions.
void add_bandwidths(const PlannerInfo& planner, const Platform& platform, std::vector<StagePlace>& places) {
  for (std::size_t s = 0; s + 1 < places.size(); ++s) {
    const ReplicaBandwidth there = replica_bandwidth(platform, places[s].devices, places[s + 1].devices);
    const ReplicaBandwidth back = replica_bandwidth(platform, places[s + 1].devices, places[s].devices);
    if (const auto& apart = there.apart ? there.apart : back.apart) {
      throw InputError("planner " + quote(planner.name) + ": devices " + quote(platform.devices[apart->first].name) +
                           " and " + quote(platform.devices[apart->second].name) +
                           " are neighbours in the pipeline, but not connected",
                       {}, "add a link or a route for this pair");
    }
    places[s].bandwidth = std::min(there.bandwidth.value(), back.bandwidth.value());
  }
}

using HostLinks = std::map<DeviceId, std::map<LinkId, bool>>;

/// Of the devices of all places that can reach a host.
HostLinks host_links(const Platform& platform, const std::vector<StagePlace>& places) {
  HostLinks links;
  for (const StagePlace& place : places) {
    for (const DeviceId device : place.devices) {
      if (auto own = host_links(platform, device)) links[device] = std::move(*own);
    }
  }
  return links;
}

/// Of the devices of those places that swap.
HostLinks host_links(const Platform& platform, const std::vector<StagePlace>& places, const std::vector<char>& swap) {
  HostLinks links;
  for (std::size_t s = 0; s < places.size(); ++s) {
    if (swap[s] != 0) links.merge(host_links(platform, {places[s]}));
  }
  return links;
}

/// How many of the devices reach their host over each link.
std::map<LinkId, double> users_of(const HostLinks& links) {
  std::map<LinkId, double> users;
  for (const auto& [device, own] : links) {
    for (const auto& [link, both] : own) users[link] += 1.0;
  }
  return users;
}

/// Nothing can be swapped in a stage if one of its replicas cannot reach a host, or crosses no link to it.
void add_host_bandwidths(const Platform& platform, const HostLinks& links, std::vector<StagePlace>& places) {
  const std::map<LinkId, double> users = users_of(links);
  for (StagePlace& place : places) {
    double narrowest = std::numeric_limits<double>::infinity();
    for (const DeviceId device : place.devices) {
      const auto own = links.find(device);
      if (own == links.end()) {
        narrowest = 0.0;
        continue;
      }
      for (const auto& [link, both] : own->second) {
        narrowest = std::min(narrowest, platform.links[link].bandwidth.value() / users.at(link));
        place.half_duplex = place.half_duplex || both;
      }
    }
    place.host_bandwidth = std::isfinite(narrowest) ? narrowest : 0.0;
  }
}

/// The bytes of activations and gradients that cross each link while every replica has one microbatch.
std::map<LinkId, Bytes> boundary_traffic(const PlanRequest& request, const Plan& plan) {
  std::map<LinkId, Bytes> traffic;
  for (const Boundary& boundary : boundaries(request.graph, plan)) {
    const std::vector<DeviceId> before = devices_of(plan.stages[boundary.from.value()]);
    const std::vector<DeviceId> behind = devices_of(plan.stages[boundary.to.value()]);
    const auto add = [&](LinkId link) { traffic[link] += boundary.bytes; };
    for (std::size_t i = 0; i < std::max(before.size(), behind.size()); ++i) {
      const DeviceId one = before[i % before.size()];
      const DeviceId other = behind[i % behind.size()];
      for_each_boundary_link(request.platform, one, other, add);
      for_each_boundary_link(request.platform, other, one, add);
    }
  }
  return traffic;
}

/// The most that crosses one of the links, for each of its users.
Bytes largest_part(const std::map<LinkId, bool>& links, const std::map<LinkId, Bytes>& traffic,
                   const std::map<LinkId, double>& users) {
  double largest = 0.0;
  for (const auto& [link, both] : links) {
    const auto found = traffic.find(link);
    if (found == traffic.end()) continue;
    largest = std::max(largest, static_cast<double>(found->second.value()) / users.at(link));
  }
  return Bytes(static_cast<std::int64_t>(std::ceil(largest)));
}

/// Whether a replica of the stage may have all microbatches of an iteration in flight.
bool runs_forwards_first(const ScheduleProgram& program, StageId stage, std::int64_t microbatches) {
  const Replicas& replicas = program.kept->replicas;
  return program.synchronous && program.in_flight[stage.value()] >= most_of(replicas, stage, microbatches);
}

}  // namespace

std::int64_t swap_backlog(const StagePlace& place) {
  constexpr std::int64_t kMany = 6;
  return place.forwards_first || place.in_flight > kMany ? 1 : 0;
}

std::int64_t resident_swaps(const StagePlace& place) {
  return std::min(place.in_flight, swap_backlog(place) + (place.forwards_first ? 2 : 3));
}

Seconds unhidden_time(const StagePlace& place, const std::vector<SavingUnit>& units) {
  Seconds time;
  if (place.forwards_first) {
    for (const SavingUnit& unit : units) time += unit.backward;
  } else if (swap_backlog(place) == 0) {
    for (const SavingUnit& unit : units) time += unit.forward;
  }
  return time;
}

void share_host_links(const PlanRequest& request, const Plan& plan, const std::vector<char>& swap,
                      std::vector<StagePlace>& places) {
  const HostLinks links = host_links(request.platform, places, swap);
  add_host_bandwidths(request.platform, links, places);
  const std::map<LinkId, double> users = users_of(links);
  const std::map<LinkId, Bytes> traffic = boundary_traffic(request, plan);
  for (StagePlace& place : places) {
    for (const DeviceId device : place.devices) {
      if (!links.contains(device)) continue;
      place.boundary_traffic = std::max(place.boundary_traffic, largest_part(links.at(device), traffic, users));
    }
  }
}

Platform with_shared_host_links(const Platform& platform, const std::vector<StagePlace>& places,
                                const std::vector<char>& swap) {
  Platform shared = platform;
  for (const auto& [link, users] : users_of(host_links(platform, places, swap))) {
    shared.links[link].bandwidth = BytesPerSecond(platform.links[link].bandwidth.value() / users);
  }
  return shared;
}

std::int64_t rounds_per_update(const PlanRequest& request, std::size_t replicas) {
  const std::int64_t round = request.graph.microbatch_size * static_cast<std::int64_t>(replicas);
  const std::int64_t samples = request.samples_per_update.value_or(round);
  return is_asynchronous(request.schedule) && samples % round == 0 ? samples / round : 1;
}

std::vector<StagePlace> places_of(const PlanRequest& request, const Plan& plan, const ScheduleProgram& program) {
  std::vector<StagePlace> places(plan.stages.size());
  for (std::size_t s = 0; s < places.size(); ++s) {
    StagePlace& place = places[s];
    place.devices = devices_of(plan.stages[s]);
    place.factor = slowest_factor(request.graph, request.platform, place.devices);
    place.in_flight = program.in_flight[s];
    place.forwards_first = runs_forwards_first(program, StageId(static_cast<std::uint32_t>(s)), plan.microbatches);
    place.weight_versions = program.weight_versions[s];
    place.capacity = request.platform.capacity(place.devices.front());
    for (const DeviceId device : place.devices) {
      place.capacity = std::min(place.capacity, request.platform.capacity(device));
    }
  }
  add_host_bandwidths(request.platform, host_links(request.platform, places), places);
  return places;
}

std::vector<StagePlace> stage_places(const PlannerInfo& planner, const PlanRequest& request,
                                     const StageDevices& devices) {
  std::vector<StagePlace> places =
      places_of(request, trivial_plan(planner, request, devices), compile_for(planner, request, devices));
  add_bandwidths(planner, request.platform, places);
  return places;
}

}  // namespace stagecraft
