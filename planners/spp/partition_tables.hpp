#pragma once

#include "planners/spp/partition_costs.hpp"

#include <algorithm>
#include <cstddef>
#include <vector>

namespace stagecraft::spp {

/// Of c stages on the first p devices, the last of them before layer l, with r devices of the next stage behind them.
/// Infinite until written.
class CutTable {
 public:
  CutTable(std::size_t layers, std::size_t devices) : layers_(layers), devices_(devices), first_(devices) {
    std::size_t size = 0;
    for (std::size_t p = 1; p < devices; ++p) {
      first_[p] = size;
      size += (devices - p) * most_stages(p) * layers;
    }
    values_.assign(size, kInfinity);
  }
  [[nodiscard]] std::size_t most_stages(std::size_t p) const { return std::min(p, layers_ - 1); }
  /// By layer.
  [[nodiscard]] double* row(std::size_t c, std::size_t p, std::size_t r) { return &values_[at(c, p, r)]; }
  [[nodiscard]] const double* row(std::size_t c, std::size_t p, std::size_t r) const { return &values_[at(c, p, r)]; }

 private:
  [[nodiscard]] std::size_t at(std::size_t c, std::size_t p, std::size_t r) const {
    return first_[p] + ((r - 1) * most_stages(p) + c - 1) * layers_;
  }

  std::size_t layers_;
  std::size_t devices_;
  std::vector<std::size_t> first_;
  std::vector<double> values_;
};

/// Of c stages before one layer, on the first i devices, the last stage on r of them.
class StateTable {
 public:
  StateTable(std::size_t layers, std::size_t devices)
      : stages_(std::min(layers, devices) + 1), stride_(devices + 1), values_(stride_ * stages_ * stride_, kInfinity) {}
  [[nodiscard]] double& at(std::size_t c, std::size_t r, std::size_t i) {
    return values_[(i * stages_ + c) * stride_ + r];
  }

 private:
  std::size_t stages_;
  std::size_t stride_;
  std::vector<double> values_;
};

/// The least load of a count of stages, and the devices that reach it.
struct LeastLoad {
  std::size_t stages = 1;
  std::size_t devices = 1;
  double load = 0.0;
};

/// The partition that ends with a stage on `replicas` devices, followed back from there. Of a stage on r devices that
/// ends at layer `end`, with c stages on p devices before it, `begins(c, p, end, r, begin)` says whether it begins at a
/// layer, and then `follows(c, p, begin, r, before)` whether it follows a stage on `before` devices. The first that
/// hold are taken.
template <class Begins, class Follows>
Partition follow_back(const LeastLoad& target, std::size_t layers, std::size_t replicas, Begins begins,
                      Follows follows) {
  Partition partition{Seconds(target.load), {}};
  std::size_t end = layers;
  std::size_t first = target.devices;
  for (std::size_t before = target.stages; before-- > 1;) {
    first -= replicas;
    std::size_t begin = before;
    while (!begins(before, first, end, replicas, begin)) ++begin;
    std::size_t replicas_before = 1;
    while (!follows(before, first, begin, replicas, replicas_before)) ++replicas_before;
    partition.stages.push_back({begin, end, first, replicas});
    end = begin;
    replicas = replicas_before;
  }
  partition.stages.push_back({0, end, 0, first});
  std::ranges::reverse(partition.stages);
  return partition;
}

}  // namespace stagecraft::spp
