#include "planners/shared/costs/divided_times.hpp"

#include "sim/model/graph_order.hpp"
#include "sim/schedule/replica_programs.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <utility>

namespace stagecraft {
namespace {

using Times = std::vector<LayerTimes>;  // in canonical order

/// Sums over the layers before each position. Each layer is rounded to a grid that is so coarse that all sums are
/// exact, and so fine that the total changes by less than 2^-50 of it. With exact sums equal layers have equal
/// differences wherever they are, so that ties are real ties.
template <class Value>
std::vector<double> exact_sums(const Times& times, const Value& value) {
  constexpr int kBits = 52;
  constexpr double kLeast = 1e-250;  // large enough that the grid does not underflow
  double all = 0.0;
  for (const LayerTimes& layer : times) all += value(layer);
  const double grid = std::ldexp(1.0, std::ilogb(std::max(all, kLeast)) - kBits + 1);
  std::vector<double> sums{0.0};
  for (const LayerTimes& layer : times) sums.push_back(sums.back() + std::nearbyint(value(layer) / grid) * grid);
  return sums;
}

double total(const LayerTimes& layer) { return (layer.forward + layer.backward).value(); }

DividedTimes::Sums sums_of(const Times& times) {
  return {exact_sums(times, [](const LayerTimes& layer) { return layer.forward.value(); }),
          exact_sums(times, [](const LayerTimes& layer) { return layer.backward.value(); }), exact_sums(times, total)};
}

Times ordered_times(const LayerGraph& graph, const std::vector<LayerId>& order, std::int64_t samples) {
  const IndexVector<LayerId, LayerTimes> by_layer = times_of_samples(graph, samples);
  Times times;
  for (LayerId id : order) times.push_back(by_layer[id]);
  return times;
}

}  // namespace

DividedTimes::DividedTimes(Sums whole, std::size_t most_replicas) : least_work_(whole.total) {
  sums_.push_back(std::move(whole));
  for (std::size_t r = 1; r <= most_replicas; ++r) parts_.push_back({0, static_cast<double>(r)});
}

DividedTimes::DividedTimes(const LayerGraph& graph, std::size_t most_replicas) {
  const std::vector<LayerId> order = canonical_order(graph);
  const Times whole = ordered_times(graph, order, graph.microbatch_size);
  std::vector<double> least;
  for (const LayerTimes& layer : whole) least.push_back(total(layer));
  sums_.push_back(sums_of(whole));
  std::int64_t last = graph.microbatch_size;
  for (std::size_t r = 1; r <= most_replicas; ++r) {
    const auto replicas = static_cast<std::int64_t>(r);
    const std::int64_t samples = (graph.microbatch_size + replicas - 1) / replicas;
    if (!graph.own_times) {
      parts_.push_back({0, static_cast<double>(graph.microbatch_size) / static_cast<double>(samples)});
      continue;
    }
    if (samples != last) {
      const Times times = ordered_times(graph, order, samples);
      for (std::size_t i = 0; i < least.size(); ++i) {
        least[i] = std::min(least[i], static_cast<double>(r) * total(times[i]));
      }
      sums_.push_back(sums_of(times));
      last = samples;
    }
    parts_.push_back({sums_.size() - 1, 1.0});
  }
  least_work_.push_back(0.0);
  for (double seconds : least) least_work_.push_back(least_work_.back() + seconds);
}

}  // namespace stagecraft
