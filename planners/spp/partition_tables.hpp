#pragma once

#include "planners/spp/partition_costs.hpp"

#include <algorithm>
#include <cstddef>
#include <vector>

namespace stagecraft::spp {

/// A table (G or H) with an entry for each (c, p, r, l): c stages with the layers before l on the first p devices,
/// followed by a stage on r devices. Entries are infinite until they are written.
class CutTable {
 public:
  CutTable(std::size_t layers, std::size_t devices) : layers_(layers), first_(devices) {
    std::size_t size = 0;
    for (std::size_t p = 1; p < devices; ++p) {
      first_[p] = size;
      size += (devices - p) * most_stages(p) * layers;
    }
    values_.assign(size, kInfinity);
  }
  [[nodiscard]] std::size_t most_stages(std::size_t p) const { return std::min(p, layers_ - 1); }
  /// The entries of (c, p, r) for all l.
  [[nodiscard]] double* row(std::size_t c, std::size_t p, std::size_t r) { return &values_[at(c, p, r)]; }
  [[nodiscard]] const double* row(std::size_t c, std::size_t p, std::size_t r) const { return &values_[at(c, p, r)]; }

 private:
  [[nodiscard]] std::size_t at(std::size_t c, std::size_t p, std::size_t r) const {
    return first_[p] + ((r - 1) * most_stages(p) + c - 1) * layers_;
  }

  std::size_t layers_;
  std::vector<std::size_t> first_;
  std::vector<double> values_;
};

/// A table (W or F) for one l with an entry for each (c, r, i): c stages with the first l layers on the first i
/// devices, the last stage on r of them.
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

/// The least load for a number of stages, and the number of devices with which it is reached.
struct LeastLoad {
  std::size_t stages = 1;
  std::size_t devices = 1;
  double load = 0.0;
};

/// Follows a partition back from its last stage, which is on `replicas` devices. For a stage on r devices that ends at
/// layer `end`, with c stages on p devices before it, `begins(c, p, end, r, begin)` tells whether it may begin at
/// `begin`, and `follows(c, p, begin, r, before)` tells whether the stage before it may be on `before` devices. In both
/// cases the first value for which the function returns true is taken.
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
