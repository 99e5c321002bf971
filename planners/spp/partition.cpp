#include "planners/spp/partition.hpp"

#include "planners/shared/costs/work.hpp"
#include "planners/spp/partition_costs.hpp"
#include "planners/spp/partition_sums.hpp"
#include "planners/spp/partition_tables.hpp"
#include "sim/base/error.hpp"
#include "sim/base/text.hpp"

#include <algorithm>
#include <cmath>
#include <optional>
#include <string>

namespace stagecraft::spp {
namespace {

/// The dynamic program of `best_partitions` (see there for W and G). The outer loop goes over l, the number of layers
/// placed. For one l, `fill_loads` computes all W(l, ...) from G(l', ...) of smaller l', and `fill_table` then computes
/// G(l, ...) from them. Only G is kept for all l; the W of one l overwrite those of the one before.
class Program {
 public:
  explicit Program(const PartitionProblem& problem)
      : problem_(problem),
        costs_(problem),
        layers_(costs_.layers()),
        devices_(costs_.devices()),
        most_(costs_.most_replicas()),
        table_(layers_, devices_),
        loads_(layers_, devices_),
        all_reduces_(costs_.exchanges(), std::vector<double>(layers_)),
        stage_(layers_) {}

  void run() {
    for (std::size_t l = 1; l <= layers_; ++l) {
      fill_loads(l);
      if (l < layers_) fill_table(l);
    }
  }
  /// The least load with that number of stages; none if the stages would need more replicas than they may have.
  [[nodiscard]] std::optional<LeastLoad> least(std::size_t stages);
  [[nodiscard]] std::vector<Partition> with_smallest_sums(const std::vector<LeastLoad>& targets) {
    return smallest_sums(problem_, costs_, targets, table_);
  }

 private:
  void fill_loads(std::size_t l);
  void fill_last_stages(std::size_t l, std::size_t p, std::size_t r);
  void fill_table(std::size_t l);

  const PartitionProblem& problem_;
  PartitionCosts costs_;
  std::size_t layers_;
  std::size_t devices_;
  std::size_t most_;                              // the most replicas of a stage
  CutTable table_;                                // G
  StateTable loads_;                              // W of the current l
  std::vector<std::vector<double>> all_reduces_;  // [exchange][l'] of the current l
  std::vector<double> stage_;                     // [l'] of the current l, r and i
};

void Program::fill_loads(std::size_t l) {
  for (std::size_t exchange = 0; exchange < costs_.exchanges(); ++exchange) {
    for (std::size_t begin = 0; begin < l; ++begin) {
      all_reduces_[exchange][begin] = costs_.all_reduce(exchange, begin, l);
    }
  }
  for (std::size_t r = 1; r <= most_; ++r) loads_.at(1, r, r) = costs_.stage(0, l, 0, r);
  const bool ends_early = l < layers_ || problem_.allow_fewer;
  for (std::size_t p = 1; p < devices_; ++p) {
    for (std::size_t r = ends_early ? 1 : devices_ - p; r <= std::min(devices_ - p, most_); ++r) {
      fill_last_stages(l, p, r);
    }
  }
}

/// W(l, xi, r, p + r) for all xi > 1: the last stage is [l', l) on r devices, after p devices for the stages before it.
/// The time of the last stage does not depend on xi, so it is computed once for each l'.
void Program::fill_last_stages(std::size_t l, std::size_t p, std::size_t r) {
  const std::vector<double>& all_reduces = all_reduces_[costs_.exchange(p, p + r)];
  std::size_t known = l;  // stage_ is filled from here on
  for (std::size_t c = 1; c <= std::min(p, l - 1); ++c) {
    const double* before = table_.row(c, p, r);
    double least = kInfinity;
    for (std::size_t begin = l; begin-- > c;) {
      if (begin < known) {
        stage_[begin] = costs_.stage(begin, l, p, p + r, all_reduces[begin]);
        known = begin;
      }
      if (stage_[begin] >= least) break;
      least = std::min(least, std::max(stage_[begin], before[begin]));
    }
    loads_.at(c + 1, r, p + r) = least;
  }
}

void Program::fill_table(std::size_t l) {
  std::vector<double> channels;
  std::vector<double> least;
  for (std::size_t p = 1; p < devices_; ++p) {
    const std::size_t most = devices_ - p;
    channels.resize(p * most);
    for (std::size_t before = 1; before <= p; ++before) {
      for (std::size_t r = 1; r <= most; ++r) channels[(before - 1) * most + r - 1] = costs_.channel(l, p, before, r);
    }
    for (std::size_t c = 1; c <= std::min(p, l); ++c) {
      least.assign(most, kInfinity);
      for (std::size_t before = 1; before <= p - c + 1; ++before) {
        const double load = loads_.at(c, before, p);
        const double* channel = &channels[(before - 1) * most];
        for (std::size_t r = 0; r < most; ++r) least[r] = std::min(least[r], std::max(load, channel[r]));
      }
      for (std::size_t r = 1; r <= most; ++r) table_.row(c, p, r)[l] = least[r - 1];
    }
  }
}

std::optional<LeastLoad> Program::least(std::size_t stages) {
  LeastLoad least{stages, devices_, kInfinity};
  for (std::size_t used = devices_; used >= (problem_.allow_fewer ? stages : devices_); --used) {
    for (std::size_t last = 1; last <= used; ++last) {
      const double load = loads_.at(stages, last, used);
      if (load < least.load) least = {stages, used, load};
    }
  }
  return least.load < kInfinity ? std::optional(least) : std::nullopt;
}

}  // namespace

void require_partition_size(std::size_t layers, std::size_t devices) {
  const auto count = static_cast<double>(devices);
  double entries = std::ceil(count * count * count / 6.0);  // bandwidths between ranges
  for (std::size_t p = 1; p < devices; ++p) {
    entries += static_cast<double>((devices - p) * std::min(p, layers - 1)) * static_cast<double>(layers);
  }
  require_affordable(
      {.what = "the table of " + std::to_string(layers) + " layers on " + std::to_string(devices) + " devices",
       .bytes = sizeof(double) * entries,
       .steps = entries * static_cast<double>(layers + devices),
       .remedy = "plan with blocks for layers, or for fewer devices"});
}

std::vector<Partition> best_partitions(const PartitionProblem& problem) {
  require_partition_size(problem.layers(), problem.devices());
  Program program(problem);
  program.run();
  std::vector<LeastLoad> targets;
  for (std::size_t stages = 1; stages <= std::min(problem.layers(), problem.devices()); ++stages) {
    if (const std::optional<LeastLoad> least = program.least(stages)) targets.push_back(*least);
  }
  return program.with_smallest_sums(targets);
}

}  // namespace stagecraft::spp
