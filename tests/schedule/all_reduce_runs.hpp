#pragma once

#include "sim/analytic/evaluate_plan.hpp"
#include "sim/schedule/all_reduce.hpp"
#include "tests/schedule/chains.hpp"

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace stagecraft::all_reduce_test {

inline std::vector<DeviceId> devices_of(const Platform& platform) {
  std::vector<DeviceId> devices;
  for (DeviceId device : indices(platform.devices)) devices.push_back(device);
  return devices;
}

/// The time of an iteration that computes nothing but the all-reduce of a stage on all devices.
inline double iteration(const Platform& platform, std::int64_t parameters) {
  LayerGraph graph = testing::chain(1, 0, 0, 0, 0, parameters);
  graph.device_kind = "A";
  Plan plan = testing::straight(1, static_cast<std::int64_t>(platform.devices.size()), "gpipe");
  plan.stages[0].replicas = groups_of_one(devices_of(platform));
  return evaluate_plan(graph, platform, plan).iterations.back().value();
}

/// How often the flows of an all-reduce cross each link.
inline std::map<std::string, int> crossings(const Platform& platform, const AllReduce& all_reduce) {
  std::map<std::string, int> counts;
  Route route;
  for (const AllReducePhase& phase : all_reduce.phases) {
    for (const AllReduceFlow& flow : phase.flows) {
      if (!find_route(platform, platform.place(flow.from), platform.place(flow.to), route)) continue;
      for (LinkId link : route.links) ++counts[platform.links[link].name];
    }
  }
  return counts;
}

inline std::vector<DeviceId> these(const std::vector<std::uint32_t>& numbers) {
  std::vector<DeviceId> devices;
  for (const std::uint32_t number : numbers) devices.emplace_back(number);
  return devices;
}

}  // namespace stagecraft::all_reduce_test
