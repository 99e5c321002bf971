#include "sim/analytic/least_times.hpp"

#include "sim/schedule/replica_programs.hpp"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <map>
#include <string>
#include <utility>

namespace stagecraft {
namespace {

constexpr double kNoTime = std::numeric_limits<double>::infinity();

/// By position in the canonical order, in seconds.
struct OrderedTimes {
  std::vector<double> forward;
  std::vector<double> backward;
};

void take_least(std::vector<double>& least, const std::vector<double>& other) {
  for (std::size_t i = 0; i < least.size(); ++i) least[i] = std::min(least[i], other[i]);
}
void take_least(OrderedTimes& least, const OrderedTimes& other) {
  take_least(least.forward, other.forward);
  take_least(least.backward, other.backward);
}

std::vector<double> sums_before(const std::vector<double>& values) {
  std::vector<double> sums{0.0};
  for (const double value : values) sums.push_back(sums.back() + value);
  return sums;
}
LayerSums sums_before(const OrderedTimes& times) { return {sums_before(times.forward), sums_before(times.backward)}; }

/// Devices on which all computations take equally long.
struct EqualDevices {
  DeviceId first;
  double count = 0.0;
};

std::vector<EqualDevices> equal_devices(const Platform& platform) {
  std::map<std::pair<std::string, double>, std::size_t> known;
  std::vector<EqualDevices> all;
  for (const DeviceId device : indices(platform.devices)) {
    const auto key = std::pair(platform.kind(device).name, platform.devices[device].slowdown);
    const auto [at, is_new] = known.emplace(key, all.size());
    if (is_new) all.push_back({device});
    all[at->second].count += 1.0;
  }
  return all;
}

/// The times of all shares on all devices, each asked for once.
class TimesOfShares {
 public:
  TimesOfShares(const LayerGraph& graph, const Platform& platform, const std::vector<LayerId>& order)
      : graph_(graph), platform_(platform), order_(order), devices_(equal_devices(platform)) {}

  /// Layer by layer on the fastest device.
  const OrderedTimes& least(std::int64_t samples) {
    const auto [at, is_new] = least_.try_emplace(samples);
    if (!is_new) return at->second;
    std::vector<OrderedTimes>& each = by_device_[samples];
    for (const EqualDevices& devices : devices_) each.push_back(on(devices.first, samples));
    at->second = each.front();
    for (const OrderedTimes& times : each) take_least(at->second, times);
    return at->second;
  }

  /// With the shares that have been asked for. The speed of a device is the most of the least work that it does in a
  /// second, over all layers and shares, so that no mix of these is done faster.
  [[nodiscard]] double work(double overhead) const {
    const std::vector<double> least = least_work();
    double all = 0.0;
    for (const double layer : least) all += layer;
    double speeds = 0.0;
    double slowest = kNoTime;
    for (std::size_t device = 0; device < devices_.size(); ++device) {
      const double speed = speed_of(device, least);
      speeds += speed * devices_[device].count;
      slowest = std::min(slowest, speed);
    }
    return speeds > 0.0 ? (all + 2.0 * overhead * slowest) / speeds : 0.0;
  }

 private:
  [[nodiscard]] OrderedTimes on(DeviceId device, std::int64_t samples) const {
    const IndexVector<LayerId, LayerTimes> times = times_of_samples(graph_, platform_, device, samples);
    OrderedTimes ordered;
    for (const LayerId id : order_) {
      ordered.forward.push_back(times[id].forward.value());
      ordered.backward.push_back(times[id].backward.value());
    }
    return ordered;
  }

  /// What a share takes of a layer, as if it were the whole microbatch.
  [[nodiscard]] double scaled(const OrderedTimes& times, std::size_t layer, std::int64_t samples) const {
    const double parts = static_cast<double>(graph_.microbatch_size) / static_cast<double>(samples);
    return (times.forward[layer] + times.backward[layer]) * parts;
  }

  [[nodiscard]] std::vector<double> least_work() const {
    std::vector<double> least(order_.size(), kNoTime);
    for (const auto& [samples, devices] : by_device_) {
      for (const OrderedTimes& times : devices) {
        for (std::size_t i = 0; i < least.size(); ++i) least[i] = std::min(least[i], scaled(times, i, samples));
      }
    }
    return least;
  }

  [[nodiscard]] double speed_of(std::size_t device, const std::vector<double>& least) const {
    double speed = 0.0;
    for (const auto& [samples, devices] : by_device_) {
      for (std::size_t i = 0; i < least.size(); ++i) {
        const double time = scaled(devices[device], i, samples);
        if (time > 0.0) speed = std::max(speed, least[i] / time);
      }
    }
    return speed;
  }

  const LayerGraph& graph_;
  const Platform& platform_;
  const std::vector<LayerId>& order_;
  std::vector<EqualDevices> devices_;
  std::map<std::int64_t, OrderedTimes> least_;
  std::map<std::int64_t, std::vector<OrderedTimes>> by_device_;
};

double least_overhead(const Platform& platform) {
  double least = kNoTime;
  for (const DeviceId device : indices(platform.devices)) {
    least = std::min(least, pass_overhead(platform, device).value());
  }
  return least;
}

}  // namespace

LeastTimes::LeastTimes(const LayerGraph& graph, const Platform& platform, const std::vector<LayerId>& order,
                       std::size_t most_replicas) {
  TimesOfShares times(graph, platform, order);
  OrderedTimes anywhere = times.least(graph.microbatch_size);
  whole_ = sums_before(anywhere);
  const auto dividing = std::min(static_cast<std::int64_t>(most_replicas), graph.microbatch_size);
  for (std::int64_t replicas = 2; replicas <= dividing; ++replicas) {
    const OrderedTimes& largest = times.least((graph.microbatch_size + replicas - 1) / replicas);
    OrderedTimes any = largest;
    take_least(any, times.least(graph.microbatch_size / replicas));
    take_least(anywhere, any);
    largest_.push_back(sums_before(largest));
    any_.push_back(sums_before(any));
  }
  anywhere_ = sums_before(anywhere);
  overhead_ = least_overhead(platform);
  work_ = times.work(overhead_);
}

}  // namespace stagecraft
