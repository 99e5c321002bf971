#include "planners/spp/partition_costs.hpp"

#include "sim/base/error.hpp"
#include "sim/schedule/pipeline_times.hpp"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

namespace stagecraft::spp {
namespace {

std::vector<double> values_of(const std::vector<Seconds>& sums) {
  std::vector<double> values;
  for (Seconds sum : sums) values.push_back(sum.value());
  return values;
}

DividedTimes proportional_times(const PartitionProblem& problem) {
  return {{values_of(problem.forward), values_of(problem.backward), values_of(problem.compute)}, problem.devices()};
}

}  // namespace

PartitionCosts::PartitionCosts(const PartitionProblem& problem)
    : problem_(&problem),
      devices_(problem.devices()),
      microbatches_(static_cast<double>(problem.microbatches)),
      ways_(problem.full_duplex ? microbatches_ : 2.0 * microbatches_) {
  STAGECRAFT_CHECK(problem.compute.size() == problem.crossing.size() &&
                       problem.parameters.size() + 1 == problem.crossing.size() && problem.layers() > 0,
                   "prefix sums over the same layers");
  STAGECRAFT_CHECK(devices_ > 0 && problem.bandwidths.rings.size() == devices_ &&
                       problem.bandwidths.channels.size() == devices_ && problem.update_bandwidth.size() == devices_,
                   "tables over the same devices");
  times_ = problem.divided.is_empty() ? proportional_times(problem) : problem.divided;
  if (!problem.forward.empty()) {
    for (const DividedTimes::Sums& sums : times_.all_sums()) {
      buckets_.emplace_back(problem.parameters, sums.backward, problem.bucket);
    }
  }
  for (Bytes bytes : problem.crossing) crossing_.push_back(static_cast<double>(bytes.value()));
  fill_ranges();
  fill_exchanges();
  fill_crossings();
}

void PartitionCosts::fill_ranges() {
  ranges_.resize((devices_ + 1) * (devices_ + 1));
  for (std::size_t first = 0; first < devices_; ++first) {
    Range range;
    for (std::size_t last = first; last < devices_; ++last) {
      widen(range, last);
      ranges_[first * (devices_ + 1) + last + 1] = range;
    }
  }
}

void PartitionCosts::widen(Range& range, std::size_t device) const {
  PartitionProblem::Overheads own;
  if (!problem_->overheads.empty()) own = problem_->overheads[device];
  const auto slower = std::pair(problem_->factors[device], own.pass.value());
  if (slower > std::pair(range.factor, range.pass_overhead)) std::tie(range.factor, range.pass_overhead) = slower;
  const auto later = std::pair(-problem_->update_bandwidth[device].value(), own.update.value());
  if (later <= std::pair(-range.update_bandwidth, range.update_overhead)) return;
  range.update_bandwidth = -later.first;
  range.update_overhead = later.second;
}

void PartitionCosts::fill_exchanges() {
  if (problem_->all_reduces) {
    replicas_.resize(problem_->all_reduces->distinct.size());
    for (std::size_t at = 0; at < ranges_.size(); ++at) ranges_[at].exchange = problem_->all_reduces->of_range[at];
    return;
  }
  std::map<std::pair<std::size_t, double>, std::size_t> positions;
  for (std::size_t first = 0; first < devices_; ++first) {
    double bandwidth = kInfinity;
    for (std::size_t last = first; last < first + std::min(devices_ - first, most_replicas()); ++last) {
      for (std::size_t other = first; other < last; ++other) {
        bandwidth = std::min(bandwidth, problem_->bandwidths.rings.between(DeviceId(other), DeviceId(last)).value());
      }
      const std::size_t replicas = last - first + 1;
      const auto [position, is_new] = positions.emplace(std::pair(replicas, bandwidth), replicas_.size());
      if (is_new) {
        replicas_.push_back(static_cast<std::int64_t>(replicas));
        bandwidths_.push_back(bandwidth);
      }
      ranges_[first * (devices_ + 1) + last + 1].exchange = position->second;
    }
  }
}

/// crossings_[middle] holds, for each number of devices before and behind the middle, their product times the smallest
/// bandwidth of a pair across the middle. That minimum is built up from the ones with one device less on either side.
void PartitionCosts::fill_crossings() {
  crossings_.resize(devices_);
  for (std::size_t middle = 1; middle < devices_; ++middle) {
    const std::size_t most = devices_ - middle;
    std::vector<double> smallest(middle * most, kInfinity);
    std::vector<double>& flows = crossings_[middle];
    flows.resize(middle * most);
    for (std::size_t before = 1; before <= middle; ++before) {
      for (std::size_t behind = 1; behind <= most; ++behind) {
        double least =
            problem_->bandwidths.channels.between(DeviceId(middle - before), DeviceId(middle + behind - 1)).value();
        const std::size_t at = (before - 1) * most + behind - 1;
        if (before > 1) least = std::min(least, smallest[at - most]);
        if (behind > 1) least = std::min(least, smallest[at - 1]);
        smallest[at] = least;
        flows[at] = static_cast<double>(before * behind) * least;
      }
    }
  }
}

double PartitionCosts::bucketed(std::size_t begin, std::size_t end, std::size_t replicas, const Range& range) const {
  const auto seconds = [&](Bytes before, Bytes all, std::size_t buckets) {
    return summed(range.exchange, before, all, buckets);
  };
  const double share = range.factor / times_.divisor(replicas);
  const DividedTimes::Sums& sums = times_.of(replicas);
  const double load = forwards(begin, end, replicas, range) +
                      (sums.backward[end] - sums.backward[begin]) * share * (microbatches_ - 1.0) +
                      range.pass_overhead * microbatches_ +
                      buckets_[times_.sums_index(replicas)].last_backward(begin, end, share, seconds) +
                      update(begin, end, replicas, range);
  const double each_time = problem_->exchange.each_time(
      problem_->parameters(begin, end), [&](Bytes bytes) { return all_reduce(range.exchange, Bytes(0), bytes, 1); });
  return std::max(load, each_time * microbatches_);
}

/// The first one waits for the weights that are gathered.
double PartitionCosts::forwards(std::size_t begin, std::size_t end, std::size_t replicas, const Range& range) const {
  const DividedTimes::Sums& sums = times_.of(replicas);
  const double layers = (sums.forward[end] - sums.forward[begin]) * (range.factor / times_.divisor(replicas));
  const double each = layers + range.pass_overhead;
  if (!problem_->exchange.is_divided) return each * microbatches_;
  return std::max(each, gathered(range.exchange, problem_->parameters(begin, end))) + each * (microbatches_ - 1.0);
}

double PartitionCosts::summed(std::size_t exchange, Bytes before, Bytes all, std::size_t buckets) const {
  const std::int64_t copies = problem_->exchange.gradients;
  return problem_->exchange.summed(all * copies,
                                   [&](Bytes bytes) { return all_reduce(exchange, before * copies, bytes, buckets); });
}

double PartitionCosts::gathered(std::size_t exchange, Bytes weights) const {
  return problem_->exchange.gathered_after(weights,
                                           [&](Bytes bytes) { return all_reduce(exchange, Bytes(0), bytes, 1); });
}

double PartitionCosts::all_reduce(std::size_t exchange, Bytes before, Bytes all, std::size_t buckets) const {
  if (problem_->all_reduces) {
    return problem_->all_reduces->distinct[exchange](static_cast<double>((all - before).value()), buckets);
  }
  const std::int64_t replicas = replicas_[exchange];
  if (replicas == 1) return 0.0;
  const Bytes bytes =
      before == Bytes(0) ? ring_bytes(all, replicas) : ring_bytes(all, replicas) - ring_bytes(before, replicas);
  return static_cast<double>(bytes.value()) / bandwidths_[exchange];
}

}  // namespace stagecraft::spp
