#include "sim/schedule/pipeline_times.hpp"

#include "sim/base/error.hpp"
#include "sim/base/text.hpp"
#include "sim/model/graph_order.hpp"
#include "sim/schedule/ranks.hpp"

#include <algorithm>

namespace stagecraft {
namespace {

/// Devices that share each microbatch of a stage.
double parts(const Stage& stage) {
  return stage.replication == Replication::Split ? static_cast<double>(stage.devices.size()) : 1.0;
}

BytesPerSecond require_bandwidth(const Platform& platform, DeviceId a, DeviceId b) {
  if (const auto bandwidth = pair_bandwidth(platform, a, b)) return *bandwidth;
  throw InputError("the analytic network takes the slowest way within a stage and from stage to stage, but " +
                       platform.devices[a].name + " and " + platform.devices[b].name + " are not connected",
                   {}, "add a link, a route or a default_link to the platform, or use the network 'platform'");
}

std::vector<double> factors_of(const LayerGraph& graph, const Platform& platform, const Stage& stage) {
  std::vector<double> factors;
  for (DeviceId device : stage.devices) {
    factors.push_back(require_time_factor(platform, graph.device_kind, device));
  }
  return factors;
}

/// Of each alternating replica; nothing where all are alike.
std::vector<double> paces(const Stage& stage, const std::vector<double>& factors, double slowest) {
  const auto is_slowest = [&](double factor) { return factor == slowest; };
  if (alternating_replicas(stage) == 1 || std::ranges::all_of(factors, is_slowest)) return {};
  std::vector<double> paces;
  for (double factor : factors) paces.push_back(factor / slowest);
  return paces;
}

Seconds synchronise_time(const Platform& platform, const Plan& plan, const Stage& stage, Bytes parameters) {
  Seconds update;
  for (DeviceId device : stage.devices) {
    update = std::max(update, update_time(platform.kind(device), plan.training, parameters));
  }
  const std::optional<BytesPerSecond> slowest = smallest_bandwidth_among(platform, stage.devices);
  if (!slowest) return update;
  return ring_bytes(parameters, static_cast<std::int64_t>(stage.devices.size())) / *slowest + update;
}

/// The most that one alternating replica of the stage computes in an iteration.
Seconds busiest_replica(const PipelineTimes& times, std::size_t stage, std::int64_t microbatches) {
  const Seconds each = times.resources[2 * stage].total();
  const std::int64_t replicas = times.alternating[stage];
  const auto count = [&](std::int64_t replica) {
    const std::int64_t whole = (microbatches - replica + replicas - 1) / replicas;
    return static_cast<double>(whole);
  };
  if (times.pace[stage].empty()) return each * count(0);
  Seconds most;
  for (std::int64_t replica = 0; replica < std::min(replicas, microbatches); ++replica) {
    most = std::max(most, each * times.pace[stage][static_cast<std::size_t>(replica)] * count(replica));
  }
  return most;
}

}  // namespace

PipelineTimes pipeline_times(const LayerGraph& graph, const Platform& platform, const Plan& plan) {
  const std::vector<Boundary> channels = chain_boundaries(graph, plan);
  PipelineTimes times;
  for (std::size_t s = 0; s < plan.stages.size(); ++s) {
    const Stage& stage = plan.stages[s];
    const StageWork work = stage_work(graph, stage);
    const std::vector<double> factors = factors_of(graph, platform, stage);
    const double slowest = *std::ranges::max_element(factors);
    if (s > 0) {
      const Seconds transfer = channel_time(platform, plan, channels[s - 1]);
      times.resources.push_back({transfer, transfer});
    }
    const double share = slowest / parts(stage);
    times.resources.push_back({work.forward * share, work.backward_total() * share});
    times.alternating.push_back(alternating_replicas(stage));
    times.pace.push_back(paces(stage, factors, slowest));
    times.synchronise.push_back(synchronise_time(platform, plan, stage, work.parameters));
  }
  return times;
}

Seconds pipeline_load(const PipelineTimes& times, std::int64_t microbatches, bool full_duplex) {
  Seconds load;
  for (std::size_t s = 0; s < times.stages(); ++s) {
    load = std::max(load, busiest_replica(times, s, microbatches) + times.synchronise[s]);
  }
  for (std::size_t at = 1; at < times.resources.size(); at += 2) {
    const BlockTimes& channel = times.resources[at];
    const Seconds each = full_duplex ? std::max(channel.forward, channel.backward) : channel.total();
    load = std::max(load, each * static_cast<double>(microbatches));
  }
  return load;
}

std::vector<Boundary> chain_boundaries(const LayerGraph& graph, const Plan& plan) {
  std::uint32_t pipelines = 0;
  for (const Stage& stage : plan.stages) pipelines = std::max(pipelines, stage.pipeline + 1);
  std::vector<Boundary> result;
  for (std::uint32_t pipeline = 0; pipeline < pipelines; ++pipeline) {
    std::vector<LayerId> order;
    std::vector<std::pair<StageId, std::size_t>> ends;  // of each stage of the pipeline
    for (StageId id : indices<StageId>(plan.stages.size())) {
      const Stage& stage = plan.stages[id.value()];
      if (stage.pipeline != pipeline) continue;
      order.insert(order.end(), stage.layers.begin(), stage.layers.end());
      ends.emplace_back(id, order.size());
    }
    const std::vector<Bytes> cuts = cut_bytes(graph, order);
    for (std::size_t i = 0; i + 1 < ends.size(); ++i) {
      result.push_back({ends[i].first, ends[i + 1].first, cuts[ends[i].second - 1]});
    }
  }
  return result;
}

Seconds channel_time(const Platform& platform, const Plan& plan, const Boundary& boundary) {
  const Stage& from = plan.stages[boundary.from.value()];
  const Stage& to = plan.stages[boundary.to.value()];
  std::optional<BytesPerSecond> smallest;
  for (DeviceId a : from.devices) {
    for (DeviceId b : to.devices) {
      if (a == b) continue;
      const BytesPerSecond bandwidth = require_bandwidth(platform, a, b);
      smallest = smallest ? std::min(*smallest, bandwidth) : bandwidth;
    }
  }
  return smallest ? boundary.bytes / *smallest / (parts(from) * parts(to)) : Seconds(0);
}

std::optional<BytesPerSecond> smallest_bandwidth_among(const Platform& platform, const std::vector<DeviceId>& devices) {
  if (devices.size() < 2) return std::nullopt;
  const std::optional<BytesPerSecond> least = smallest_pair_bandwidth(platform);
  std::optional<BytesPerSecond> smallest;
  for (std::size_t i = 0; i < devices.size(); ++i) {
    for (std::size_t j = i + 1; j < devices.size(); ++j) {
      const BytesPerSecond bandwidth = require_bandwidth(platform, devices[i], devices[j]);
      smallest = smallest ? std::min(*smallest, bandwidth) : bandwidth;
      if (smallest == least) return smallest;
    }
  }
  return smallest;
}

}  // namespace stagecraft
