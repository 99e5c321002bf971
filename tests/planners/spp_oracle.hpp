#pragma once

#include "planners/spp/partition.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <numeric>
#include <random>
#include <tuple>
#include <utility>
#include <vector>

// Partitions judged and searched with plain loops, written anew from the specification.
namespace stagecraft::testing {

using spp::Partition;
using spp::PartitionProblem;
using spp::PartitionStage;

inline constexpr double kNoLoad = std::numeric_limits<double>::infinity();

inline std::int64_t ring_share(std::int64_t bytes, std::int64_t replicas) {
  return (bytes * 2 * (replicas - 1) + replicas - 1) / replicas;
}

/// How long the exchange of buckets lasts beyond the last backward, by walking the layers back and then the buckets.
inline double exposed_exchange(const PartitionProblem& problem, const PartitionStage& stage, double share,
                               double bandwidth) {
  std::vector<std::pair<std::int64_t, double>> buckets;  // bytes, and when they are complete
  double now = 0.0;
  for (std::size_t l = stage.end; l-- > stage.begin;) {
    now += (problem.backward[l + 1] - problem.backward[l]).value() * share;
    const std::int64_t bytes = problem.parameters(l, l + 1).value();
    if (bytes == 0) continue;
    if (buckets.empty() || buckets.back().first + bytes > problem.bucket.value()) buckets.emplace_back(0, 0.0);
    buckets.back() = {buckets.back().first + bytes, now};
  }
  double end = 0.0;
  std::int64_t sent = 0;
  const auto r = static_cast<std::int64_t>(stage.replicas);
  for (const auto& [bytes, complete] : buckets) {
    end = std::max(end, complete) + static_cast<double>(ring_share(sent + bytes, r) - ring_share(sent, r)) / bandwidth;
    sent += bytes;
  }
  return std::max(0.0, end - now);
}

/// Those of the device that is slowest without them, and of the one whose step takes longest without.
inline PartitionProblem::Overheads overheads_of(const PartitionProblem& problem, const PartitionStage& stage) {
  PartitionProblem::Overheads chosen;
  if (problem.overheads.empty()) return chosen;
  double factor = 0.0;
  double bandwidth = kNoLoad;
  for (std::size_t u = stage.first; u < stage.first + stage.replicas; ++u) {
    const auto& [pass, update] = problem.overheads[u];
    if (problem.factors[u] > factor) chosen.pass = Seconds(0);
    factor = std::max(factor, problem.factors[u]);
    if (problem.factors[u] == factor) chosen.pass = std::max(chosen.pass, pass);
    if (problem.update_bandwidth[u].value() < bandwidth) chosen.update = Seconds(0);
    bandwidth = std::min(bandwidth, problem.update_bandwidth[u].value());
    if (problem.update_bandwidth[u].value() == bandwidth) chosen.update = std::max(chosen.update, update);
  }
  return chosen;
}

inline double stage_load(const PartitionProblem& problem, const PartitionStage& stage) {
  double factor = 0.0;
  double bandwidth = kNoLoad;
  double update = kNoLoad;
  for (std::size_t u = stage.first; u < stage.first + stage.replicas; ++u) {
    factor = std::max(factor, problem.factors[u]);
    update = std::min(update, problem.update_bandwidth[u].value());
    for (std::size_t v = stage.first; v < u; ++v) {
      bandwidth = std::min(bandwidth, problem.bandwidths.rings.between(DeviceId(u), DeviceId(v)).value());
    }
  }
  const double compute = (problem.compute[stage.end] - problem.compute[stage.begin]).value();
  const std::int64_t bytes = problem.parameters(stage.begin, stage.end).value();
  const auto r = static_cast<std::int64_t>(stage.replicas);
  const double share = factor / static_cast<double>(r);
  const double pass = overheads_of(problem, stage).pass.value();
  // Where replicas divide the optimizer's state: halves of an all-reduce, of which the second one waits for the first
  // forward that runs at the same time, and an update of a part.
  const bool is_divided = problem.exchange.is_divided;
  const double whole = static_cast<double>(ring_share(bytes, r)) / bandwidth;
  const bool has_buckets = problem.bucket > Bytes(0);
  double reduce = has_buckets ? exposed_exchange(problem, stage, share, is_divided ? 2 * bandwidth : bandwidth) : whole;
  if (is_divided && has_buckets) {
    const double forward = (problem.forward[stage.end] - problem.forward[stage.begin]).value() * share + pass;
    reduce += std::max(0.0, whole / 2 - forward);
  }
  const std::int64_t changed = is_divided ? (bytes + r - 1) / r : bytes;
  return static_cast<double>(problem.microbatches) * (compute * factor / static_cast<double>(r) + 2 * pass) + reduce +
         static_cast<double>(changed * problem.update_copies) / update + overheads_of(problem, stage).update.value();
}

inline double channel_load(const PartitionProblem& problem, const PartitionStage& from, const PartitionStage& to) {
  double bandwidth = kNoLoad;
  for (std::size_t u = from.first; u < from.first + from.replicas; ++u) {
    for (std::size_t v = to.first; v < to.first + to.replicas; ++v) {
      bandwidth = std::min(bandwidth, problem.bandwidths.channels.between(DeviceId(u), DeviceId(v)).value());
    }
  }
  const double once = static_cast<double>(problem.crossing[to.begin].value()) /
                      (static_cast<double>(from.replicas * to.replicas) * bandwidth);
  return (problem.full_duplex ? 1.0 : 2.0) * static_cast<double>(problem.microbatches) * once;
}

/// All loads of a plan: its stages' and its channels'.
inline std::vector<double> loads_of(const PartitionProblem& problem, const std::vector<PartitionStage>& stages) {
  std::vector<double> loads;
  for (std::size_t s = 0; s < stages.size(); ++s) {
    loads.push_back(stage_load(problem, stages[s]));
    if (s > 0) loads.push_back(channel_load(problem, stages[s - 1], stages[s]));
  }
  return loads;
}

/// Whether the stages cover the layers, and the devices [0, used), one after the other.
inline bool covers(const PartitionProblem& problem, const std::vector<PartitionStage>& stages) {
  std::size_t layer = 0;
  std::size_t device = 0;
  for (const PartitionStage& stage : stages) {
    if (stage.begin != layer || stage.end <= stage.begin || stage.first != device || stage.replicas == 0) return false;
    layer = stage.end;
    device += stage.replicas;
  }
  return layer == problem.layers() && (problem.allow_fewer ? device <= problem.devices() : device == problem.devices());
}

inline bool may_have(const PartitionProblem& problem, std::size_t replicas) {
  return static_cast<std::int64_t>(replicas) <= problem.most_replicas;
}

/// Visits every plan: each cut of the layers with each choice of replicas.
inline void for_each_partition(const PartitionProblem& problem, std::vector<PartitionStage>& stages,
                               const std::function<void()>& visit) {
  const std::size_t layer = stages.empty() ? 0 : stages.back().end;
  const std::size_t device = stages.empty() ? 0 : stages.back().first + stages.back().replicas;
  if (layer == problem.layers()) {
    if (problem.allow_fewer || device == problem.devices()) visit();
    return;
  }
  for (std::size_t end = layer + 1; end <= problem.layers(); ++end) {
    for (std::size_t replicas = 1; device + replicas <= problem.devices(); ++replicas) {
      if (!may_have(problem, replicas)) break;
      stages.push_back({layer, end, device, replicas});
      for_each_partition(problem, stages, visit);
      stages.pop_back();
    }
  }
}

/// The least load of each count of stages among all plans; infinite where there is none.
inline std::vector<double> exhaustive_loads(const PartitionProblem& problem) {
  std::vector<double> best(std::min(problem.layers(), problem.devices()), kNoLoad);
  std::vector<PartitionStage> stages;
  for_each_partition(problem, stages, [&] {
    double& least = best[stages.size() - 1];
    least = std::min(least, std::ranges::max(loads_of(problem, stages)));
  });
  return best;
}

/// W(l, xi, r, i) by the specification's loops: r, l' and r' ascending, replaced only on strict improvement.
class PlainProgram {
 public:
  explicit PlainProgram(const PartitionProblem& problem) : problem_(problem) {}

  [[nodiscard]] Partition best(std::size_t stages) {
    Partition best{Seconds(kNoLoad), {}};
    for (std::size_t i = problem_.devices(); i >= (problem_.allow_fewer ? 1 : problem_.devices()); --i) {
      for (std::size_t r = 1; r <= i && may_have(problem_, r); ++r) {
        const Partition& found = at({problem_.layers(), stages, r, i});
        if (found.load < best.load) best = found;
      }
    }
    return best;
  }

 private:
  using State = std::tuple<std::size_t, std::size_t, std::size_t, std::size_t>;

  const Partition& at(const State& state) {
    const auto known = states_.find(state);
    if (known != states_.end()) return known->second;
    const auto [l, stages, r, i] = state;
    Partition best{Seconds(kNoLoad), {}};
    if (!may_have(problem_, r)) return states_[state] = best;
    if (stages == 1) {
      if (r == i) best = {Seconds(stage_load(problem_, {0, l, 0, i})), {{0, l, 0, i}}};
      return states_[state] = best;
    }
    for (std::size_t before = stages - 1; before < l; ++before) {
      for (std::size_t replicas = 1; replicas + r <= i; ++replicas) {
        const Partition& first = at({before, stages - 1, replicas, i - r});
        if (first.load == Seconds(kNoLoad)) continue;
        const PartitionStage stage{before, l, i - r, r};
        const double load = std::max(
            {first.load.value(), stage_load(problem_, stage), channel_load(problem_, first.stages.back(), stage)});
        if (load >= best.load.value()) continue;
        best = first;
        best.load = Seconds(load);
        best.stages.push_back(stage);
      }
    }
    return states_[state] = best;
  }

  const PartitionProblem& problem_;
  std::map<State, Partition> states_;
};

/// By the same loops the smallest sum of loads, none of which exceeds `most`, on the first `devices` devices.
class PlainSums {
 public:
  PlainSums(const PartitionProblem& problem, double most) : problem_(problem), most_(most) {}

  [[nodiscard]] std::vector<PartitionStage> best(std::size_t stages, std::size_t devices) {
    Found best;
    for (std::size_t r = 1; r <= devices; ++r) {
      const Found& found = at({problem_.layers(), stages, r, devices});
      if (found.sum < best.sum) best = found;
    }
    return best.stages;
  }

 private:
  using State = std::tuple<std::size_t, std::size_t, std::size_t, std::size_t>;
  struct Found {
    double sum = kNoLoad;
    std::vector<PartitionStage> stages;
  };

  [[nodiscard]] double within(double load) const { return load <= most_ ? load : kNoLoad; }

  const Found& at(const State& state) {
    const auto known = states_.find(state);
    if (known != states_.end()) return known->second;
    const auto [l, stages, r, i] = state;
    Found best;
    const PartitionStage last{0, l, i - r, r};
    if (!may_have(problem_, r) || (stages == 1 && r != i)) return states_[state] = best;
    if (stages == 1) return states_[state] = {within(stage_load(problem_, last)), {last}};
    for (std::size_t before = stages - 1; before < l; ++before) {
      for (std::size_t replicas = 1; replicas + r <= i; ++replicas) {
        const Found& first = at({before, stages - 1, replicas, i - r});
        if (first.sum == kNoLoad) continue;
        const PartitionStage stage{before, l, i - r, r};
        const double sum = first.sum + within(stage_load(problem_, stage)) +
                           within(channel_load(problem_, first.stages.back(), stage));
        if (sum >= best.sum) continue;
        best = {sum, first.stages};
        best.stages.push_back(stage);
      }
    }
    return states_[state] = best;
  }

  const PartitionProblem& problem_;
  double most_;
  std::map<State, Found> states_;
};

/// The smallest sum of the loads of any plan with as many stages on as many devices and no larger load.
inline double exhaustive_sum(const PartitionProblem& problem, const Partition& partition) {
  const std::size_t used = partition.stages.back().first + partition.stages.back().replicas;
  double least = kNoLoad;
  std::vector<PartitionStage> stages;
  for_each_partition(problem, stages, [&] {
    if (stages.size() != partition.stages.size()) return;
    if (stages.back().first + stages.back().replicas != used) return;
    const std::vector<double> loads = loads_of(problem, stages);
    if (std::ranges::max(loads) > partition.load.value()) return;
    least = std::min(least, std::accumulate(loads.begin(), loads.end(), 0.0));
  });
  return least;
}

/// Whole numbers whose shares are whole too, up to 4 devices: sums are exact in any order, and ties are many.
inline PartitionProblem whole_problem(std::mt19937_64& random, std::size_t most_layers, std::size_t most_devices) {
  const auto below = [&](std::uint64_t count) { return static_cast<std::int64_t>(random() % count); };
  const std::size_t layers = 1 + random() % most_layers;
  const std::size_t devices = 1 + random() % most_devices;
  PartitionProblem problem{.compute = {Seconds(0)},
                           .parameters = {},
                           .crossing = {Bytes(0)},
                           .bandwidths = {PairBandwidths(devices), PairBandwidths(devices)},
                           .factors = {},
                           .update_bandwidth = {},
                           .update_copies = 1 + below(4),
                           .microbatches = 1 + below(5),
                           .most_replicas = below(3) == 0 ? 1 + below(3) : 100,
                           .full_duplex = below(2) == 0,
                           .allow_fewer = below(2) == 0};
  const auto largest = static_cast<std::uint64_t>(1 + below(6));
  std::vector<Bytes> parameters(1);
  for (std::size_t l = 1; l <= layers; ++l) {
    problem.compute.push_back(problem.compute.back() + Seconds(static_cast<double>(12 * below(largest))));
    parameters.push_back(parameters.back() + Bytes(96 * below(largest)));
    problem.crossing.push_back(Bytes(l < layers ? 96 * below(largest) : 0));
  }
  problem.parameters = parameters;
  const bool equal_speeds = below(2) == 0;
  const bool updates = below(2) == 0;
  const bool has_overheads = below(2) == 0;
  for (std::size_t u = 0; u < devices; ++u) {
    problem.factors.push_back(static_cast<double>(equal_speeds ? 1 : 1 + below(3)));
    problem.update_bandwidth.push_back(updates ? BytesPerSecond(static_cast<double>(8 << below(2)))
                                               : BytesPerSecond(kNoLoad));
    if (has_overheads) {
      problem.overheads.push_back({Seconds(static_cast<double>(below(8))), Seconds(static_cast<double>(below(8)))});
    }
    for (std::size_t v = 0; v < u; ++v) {
      for (PairBandwidths* pairs : {&problem.bandwidths.rings, &problem.bandwidths.channels}) {
        pairs->set(DeviceId(u), DeviceId(v), BytesPerSecond(static_cast<double>(1 << below(4))));
      }
    }
  }
  problem.exchange.is_divided = below(3) == 0;
  return problem;
}

}  // namespace stagecraft::testing
