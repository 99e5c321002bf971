#include "planners/shared/cost_model.hpp"
#include "planners/shared/saving_pipeline.hpp"
#include "sim/base/error.hpp"
#include "sim/base/text.hpp"
#include "sim/model/bandwidths.hpp"
#include "sim/model/graph_order.hpp"
#include "sim/schedule/boundaries.hpp"
#include "sim/schedule/schedule_family.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <optional>
#include <string>

namespace stagecraft {
namespace {

/// One layer on each device but the last, which has all others. What a schedule keeps does not depend on the layers.
Plan trivial_plan(const PlannerInfo& planner, const PlanRequest& request, std::size_t stages) {
  Plan plan = empty_plan(planner, request);
  const std::vector<LayerId> order = canonical_order(request.graph);
  for (std::size_t s = 0; s < stages; ++s) {
    Stage& stage = plan.stages.emplace_back();
    stage.layers = layers_in(order, s, s + 1 < stages ? s + 1 : order.size());
    stage.replicas = {DeviceId(s)};
  }
  plan.rounds_per_update = microbatches_per_update(request);
  return plan;
}

ScheduleProgram compile_for(const PlannerInfo& planner, const PlanRequest& request, std::size_t stages) {
  const std::string who = "planner " + quote(planner.name);
  const ScheduleFamily& family = require_family(request.schedule.name);
  if (family.placement != straight_placement) {
    throw InputError(who + " puts one stage on each device; the schedule " + quote(family.name) +
                     " places stages in another way");
  }
  ScheduleProgram program = require_schedule(request.graph, request.platform, trivial_plan(planner, request, stages));
  if (!program.reaches_in_flight) {
    throw InputError(who + " has to know how many microbatches are in flight before it cuts the model; in " +
                         quote(family.name) + " that depends on the cut",
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

/// The bandwidth from each stage's device to the next one's, the smaller of both directions.
void add_bandwidths(const PlannerInfo& planner, const Platform& platform, std::vector<StagePlace>& places) {
  for (std::size_t s = 0; s + 1 < places.size(); ++s) {
    SmallestBandwidth smallest;
    smallest.add_both_ways(platform, places[s].device, places[s + 1].device);
    if (smallest.apart) {
      throw InputError("planner " + quote(planner.name) + ": devices " +
                           quote(platform.devices[smallest.apart->first].name) + " and " +
                           quote(platform.devices[smallest.apart->second].name) +
                           " are neighbours in the pipeline, but not connected",
                       {}, "add a link or a route for this pair");
    }
    places[s].bandwidth = smallest.bandwidth.value();
  }
}

using HostLinks = std::vector<std::optional<std::map<LinkId, bool>>>;

HostLinks host_links(const Platform& platform, const std::vector<StagePlace>& places) {
  HostLinks links;
  for (const StagePlace& place : places) links.push_back(host_links(platform, place.device));
  return links;
}

/// How many of the devices reach their host over each link.
std::map<LinkId, double> users_of(const HostLinks& links) {
  std::map<LinkId, double> users;
  for (const auto& own : links) {
    if (!own) continue;
    for (const auto& [link, both] : *own) users[link] += 1.0;
  }
  return users;
}

void add_host_bandwidths(const Platform& platform, std::vector<StagePlace>& places) {
  const HostLinks links = host_links(platform, places);
  const std::map<LinkId, double> users = users_of(links);
  for (std::size_t s = 0; s < places.size(); ++s) {
    if (!links[s]) continue;
    StagePlace& place = places[s];
    double narrowest = std::numeric_limits<double>::infinity();
    for (const auto& [link, both] : *links[s]) {
      narrowest = std::min(narrowest, platform.links[link].bandwidth.value() / users.at(link));
      place.half_duplex = place.half_duplex || both;
    }
    if (std::isfinite(narrowest)) place.host_bandwidth = narrowest;
  }
}

/// The bytes of activations and gradients that cross each link for one microbatch.
std::map<LinkId, Bytes> boundary_traffic(const PlanRequest& request, const Plan& plan) {
  std::map<LinkId, Bytes> traffic;
  Route route;
  const auto add = [&](StageId from, StageId to, Bytes bytes) {
    const PlaceId source = request.platform.place(plan.stages[from.value()].replicas.front().lead());
    const PlaceId target = request.platform.place(plan.stages[to.value()].replicas.front().lead());
    if (!find_route(request.platform, source, target, route)) return;
    for (LinkId link : route.links) traffic[link] += bytes;
  };
  for (const Boundary& boundary : boundaries(request.graph, plan)) {
    add(boundary.from, boundary.to, boundary.bytes);
    add(boundary.to, boundary.from, boundary.bytes);
  }
  return traffic;
}

}  // namespace

std::int64_t microbatches_per_update(const PlanRequest& request) {
  const std::int64_t size = request.graph.microbatch_size;
  const std::int64_t samples = request.samples_per_update.value_or(size);
  return is_asynchronous(request.schedule) && samples % size == 0 ? samples / size : 1;
}

Platform with_crowded_host_links(const PlanRequest& request, const std::vector<StagePlace>& places, const Plan& plan,
                                 Seconds period) {
  constexpr double kLeastPart = 0.1;  // of a link, that is left to swaps
  Platform crowded = request.platform;
  const std::map<LinkId, Bytes> traffic = boundary_traffic(request, plan);
  for (const auto& [link, users] : users_of(host_links(request.platform, places))) {
    BytesPerSecond& bandwidth = crowded.links[link].bandwidth;
    const auto crossing = traffic.find(link);
    double part = 1.0;
    if (crossing != traffic.end() && period > Seconds(0)) part -= crossing->second / bandwidth / period;
    bandwidth = BytesPerSecond(bandwidth.value() * std::max(part, kLeastPart) / users);
  }
  return crowded;
}

std::vector<StagePlace> stage_places(const PlannerInfo& planner, const PlanRequest& request, std::size_t stages) {
  const ScheduleProgram program = compile_for(planner, request, stages);
  std::vector<StagePlace> places(stages);
  for (std::size_t s = 0; s < stages; ++s) {
    StagePlace& place = places[s];
    place.device = DeviceId(s);
    place.factor = require_time_factor(request.platform, request.graph.device_kind, place.device);
    place.in_flight = program.in_flight[s];
    place.weight_versions = program.weight_versions[s];
    place.capacity = request.platform.capacity(place.device);
  }
  add_bandwidths(planner, request.platform, places);
  add_host_bandwidths(request.platform, places);
  return places;
}

}  // namespace stagecraft
