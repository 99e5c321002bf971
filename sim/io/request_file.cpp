#include "sim/io/request_file.hpp"

#include "sim/io/json.hpp"
#include "sim/io/model_file.hpp"
#include "sim/io/plan_file.hpp"
#include "sim/io/platform_file.hpp"
#include "sim/model/bandwidths.hpp"
#include "sim/model/graph_order.hpp"

namespace stagecraft {
namespace {

Detail or_null(const std::optional<double>& value) { return value ? Detail(*value) : Detail(); }

Detail device_record(const LayerGraph& graph, const Platform& platform, DeviceId id) {
  const Device& device = platform.devices[id];
  const DeviceKind& kind = platform.kind(id);
  Detail::Record record{{"name", device.name},
                        {"kind", kind.name},
                        {"node", device.node.is_none() ? Detail() : Detail(std::int64_t{device.node.value()})},
                        {"memory_bytes", platform.memory(id).value()},
                        {"usable_bytes", platform.capacity(id).value()},
                        {"time_factor", or_null(time_factor(platform, graph.device_kind, id))}};
  Route route;
  const bool has_host =
      !device.host.is_none() && find_route(platform, platform.place(id), platform.place(device.host), route);
  const std::optional<BytesPerSecond> bandwidth = has_host ? narrowest_bandwidth(platform, route) : std::nullopt;
  record.emplace_back("host", has_host ? Detail(platform.hosts[device.host].name) : Detail());
  record.emplace_back("host_bandwidth", bandwidth ? Detail(bandwidth->value()) : Detail());
  return record;
}

Detail device_list(const LayerGraph& graph, const Platform& platform) {
  Detail::List list;
  for (DeviceId id : indices(platform.devices)) list.push_back(device_record(graph, platform, id));
  return list;
}

Detail host_list(const Platform& platform) {
  Detail::List list;
  for (const Host& host : platform.hosts) {
    list.push_back(Detail::Record{{"name", host.name}, {"memory_bytes", host.memory.value()}});
  }
  return list;
}

/// PipeDream's hierarchy; null where devices are not connected.
Detail level_list(const Platform& platform) {
  if (platform.devices.size() > 1 && !smallest_pair_bandwidth(platform, PairUse::Collective)) return {};
  Detail::List list;
  for (const Level& level : levels(platform)) {
    list.push_back(Detail::Record{{"count", std::int64_t{level.count}}, {"bandwidth", level.bandwidth.value()}});
  }
  return list;
}

/// A matrix over all pairs of devices, row by row, in the order of the list; null if there are too many devices.
struct PairMatrix {
  Detail bandwidth;
  Detail latency;
};
PairMatrix pair_matrices(const Platform& platform) {
  PairMatrix pairs;
  if (platform.devices.size() > kMostPairedDevices) return pairs;
  Detail::List bandwidths;
  Detail::List latencies;
  Route route;
  for (DeviceId from : indices(platform.devices)) {
    Detail::List bandwidth_row;
    Detail::List latency_row;
    for (DeviceId to : indices(platform.devices)) {
      const std::optional<PairCost> cost = pair_cost(platform, from, to, PairUse::Boundary, route);
      bandwidth_row.emplace_back();
      latency_row.emplace_back();
      if (cost && cost->bandwidth) bandwidth_row.back().value = cost->bandwidth->value();
      if (cost) latency_row.back().value = cost->latency.value();
    }
    bandwidths.emplace_back(std::move(bandwidth_row));
    latencies.emplace_back(std::move(latency_row));
  }
  pairs.bandwidth.value = std::move(bandwidths);
  pairs.latency.value = std::move(latencies);
  return pairs;
}

}  // namespace

std::string write_request(const PlannerQuestion& question) {
  const LayerGraph& graph = question.graph;
  const std::vector<LayerId> order = canonical_order(graph);
  Detail::List names;
  for (LayerId layer : order) names.emplace_back(graph.layers[layer].name);
  Detail::List cuts;
  for (Bytes bytes : cut_bytes(graph, order)) cuts.emplace_back(bytes.value());
  const std::optional<std::int64_t>& samples = question.samples_per_update;
  Detail::Record root{
      {"schema", "stagecraft/request/1"},
      {"microbatch_size", graph.microbatch_size},
      {"microbatches", question.microbatches},
      {"samples_per_update", samples ? Detail(*samples) : Detail()},
      {"schedule", question.schedule ? Detail(schedule_record(*question.schedule)) : Detail()},
      {"training", training_record(question.training)},
      {"memory", question.memory},
      {"options", question.options},
      {"seed", question.seed ? Detail(*question.seed) : Detail()},
      {"running",
       question.running != nullptr ? Detail(plan_record(*question.running, graph, question.platform)) : Detail()},
      {"model", model_record(Model{{graph}, {}, {}})},
      {"order", std::move(names)},
      {"cut_bytes", std::move(cuts)},
      {"platform", platform_record(question.platform.spec)},
      {"devices", device_list(graph, question.platform)},
      {"hosts", host_list(question.platform)},
      {"levels", level_list(question.platform)}};
  PairMatrix pairs = pair_matrices(question.platform);
  root.emplace_back("bandwidth", std::move(pairs.bandwidth));
  root.emplace_back("latency_s", std::move(pairs.latency));
  return to_json(root, -1) + "\n";
}

}  // namespace stagecraft
