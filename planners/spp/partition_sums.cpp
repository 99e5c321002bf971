#include "planners/spp/partition_sums.hpp"

#include "sim/base/error.hpp"

#include <algorithm>
#include <cmath>

namespace stagecraft::spp {
namespace {

/// The cuts [first, last] that are possible after some number of devices.
struct CutRange {
  std::size_t first = 1;
  std::size_t last = 0;
  [[nodiscard]] bool contains(std::size_t cut) const { return first <= cut && cut <= last; }
};

/// The dynamic program of `smallest_sums` for one load W (see there for F and H). Loops and tables are as in `Program`
/// of partition.cpp: for each l, F(l, ...) from H of smaller l', then H(l, ...).
class SumProgram {
 public:
  SumProgram(const PartitionProblem& problem, const PartitionCosts& costs, CutTable& table)
      : problem_(problem),
        costs_(costs),
        layers_(costs.layers()),
        devices_(costs.devices()),
        most_replicas_(costs.most_replicas()),
        table_(table),
        sums_(layers_, devices_),
        stage_(layers_) {}

  /// Fills the tables for up to `stages` stages.
  void run(double load, std::size_t stages);
  /// **Requires** a run with its load.
  [[nodiscard]] Partition best(const LeastLoad& target);

 private:
  void find_ranges();
  void fill_sums(std::size_t l);
  void fill_last_stages(std::size_t l, std::size_t p, std::size_t r);
  void fill_table(std::size_t l);
  [[nodiscard]] double sum(std::size_t l, std::size_t stages, std::size_t r, std::size_t i) const;

  /// A load rounded to whole units, so that sums are exact; infinite if it exceeds W.
  [[nodiscard]] double counted(double load) const {
    constexpr double kRounds = 6755399441055744.0;  // 1.5 · 2^52: adding and subtracting it rounds to a whole number
    return load <= load_ ? (load * scale_ + kRounds) - kRounds : kInfinity;
  }

  const PartitionProblem& problem_;
  const PartitionCosts& costs_;
  std::size_t layers_;
  std::size_t devices_;
  std::size_t most_replicas_;
  std::size_t most_stages_ = 0;
  double load_ = 0.0;
  double scale_ = 0.0;
  CutTable& table_;               // H
  StateTable sums_;               // F of the current l
  std::vector<CutRange> ranges_;  // by the number of devices before the cut
  std::vector<double> stage_;     // [l'] of the current l, r and i
  std::vector<double> channels_;  // [(r' - 1) · (devices - p) + r - 1] of the current l and p
  std::vector<double> least_;     // [r - 1]
};

void SumProgram::run(double load, std::size_t stages) {
  constexpr int kBits = 40;
  constexpr double kLeast = 1e-200;
  load_ = load;
  scale_ = load > kLeast ? std::ldexp(1.0, kBits - std::ilogb(load)) : 0.0;
  most_stages_ = stages;
  find_ranges();
  for (std::size_t l = 1; l <= layers_; ++l) {
    fill_sums(l);
    if (l < layers_) fill_table(l);
  }
}

/// Finds for each p the cuts that are possible after p devices. In the time of one microbatch within W, a stage
/// computes at most as much as its devices together at their own speeds; so the p devices before a cut, and those after
/// it, must be able to compute the layers on their side.
void SumProgram::find_ranges() {
  constexpr double kSlack = 1.0 + 1e-9;  // far more than rounding errors
  const double each = load_ / static_cast<double>(problem_.microbatches) * kSlack;
  std::vector<double> speed{0.0};
  for (double factor : problem_.factors) speed.push_back(speed.back() + 1.0 / factor);
  const std::vector<double>& work = costs_.least_work();
  ranges_.assign(devices_ + 1, {});
  for (std::size_t p = 1; p < devices_; ++p) {
    CutRange& range = ranges_[p];
    range.last = layers_ - 1;
    while (range.last > 0 && work[range.last] > each * speed[p]) --range.last;
    const double behind = each * (speed[devices_] - speed[p]);
    while (range.first < layers_ && work.back() - work[range.first] > behind) ++range.first;
  }
}

void SumProgram::fill_sums(std::size_t l) {
  for (std::size_t r = 1; r <= most_replicas_; ++r) sums_.at(1, r, r) = counted(costs_.stage(0, l, 0, r));
  const bool is_end = l == layers_;
  for (std::size_t i = is_end && !problem_.allow_fewer ? devices_ : 2; i <= devices_; ++i) {
    if (!is_end && !ranges_[i].contains(l)) continue;
    for (std::size_t r = 1; r <= std::min(i - 1, most_replicas_); ++r) fill_last_stages(l, i - r, r);
  }
}

/// F(l, c, r, p + r) for all c > 1.
void SumProgram::fill_last_stages(std::size_t l, std::size_t p, std::size_t r) {
  const CutRange& range = ranges_[p];
  const std::size_t end = std::min(range.last + 1, l);
  std::size_t first = end;
  while (first > range.first) {
    const double stage = counted(costs_.stage(first - 1, l, p, p + r));
    if (stage == kInfinity) break;
    stage_[--first] = stage;
  }
  for (std::size_t c = 1; c <= std::min({p, l - 1, most_stages_ - 1}); ++c) {
    const double* before = table_.row(c, p, r);
    double least = kInfinity;
    for (std::size_t begin = std::max(first, c); begin < end; ++begin) {
      least = std::min(least, stage_[begin] + before[begin]);
    }
    sums_.at(c + 1, r, p + r) = least;
  }
}

void SumProgram::fill_table(std::size_t l) {
  for (std::size_t p = 1; p < devices_; ++p) {
    if (!ranges_[p].contains(l)) continue;
    const std::size_t most = std::min(devices_ - p, most_replicas_);
    const std::size_t most_before = std::min(p, most_replicas_);
    channels_.resize(most_before * most);
    for (std::size_t before = 1; before <= most_before; ++before) {
      for (std::size_t r = 1; r <= most; ++r) {
        channels_[(before - 1) * most + r - 1] = counted(costs_.channel(l, p, before, r));
      }
    }
    for (std::size_t c = 1; c <= std::min({p, l, most_stages_ - 1}); ++c) {
      least_.assign(most, kInfinity);
      for (std::size_t before = 1; before <= std::min(p - c + 1, most_before); ++before) {
        const double sum = sums_.at(c, before, p);
        if (sum == kInfinity) continue;
        const double* channel = &channels_[(before - 1) * most];
        for (std::size_t r = 0; r < most; ++r) least_[r] = std::min(least_[r], sum + channel[r]);
      }
      for (std::size_t r = 1; r <= most; ++r) table_.row(c, p, r)[l] = least_[r - 1];
    }
  }
}

/// F(l, stages, r, i) computed again from the table, to follow a partition back.
double SumProgram::sum(std::size_t l, std::size_t stages, std::size_t r, std::size_t i) const {
  if (stages == 1) return r == i && r <= most_replicas_ ? counted(costs_.stage(0, l, 0, i)) : kInfinity;
  if (i < r + stages - 1) return kInfinity;
  const CutRange& range = ranges_[i - r];
  const double* before = table_.row(stages - 1, i - r, r);
  double least = kInfinity;
  for (std::size_t begin = std::min(l, range.last + 1); begin-- > std::max(stages - 1, range.first);) {
    const double stage = counted(costs_.stage(begin, l, i - r, i));
    if (stage == kInfinity) break;
    least = std::min(least, stage + before[begin]);
  }
  return least;
}

Partition SumProgram::best(const LeastLoad& target) {
  std::size_t last = 1;
  const auto sum_of = [&](std::size_t r) { return sums_.at(target.stages, r, target.devices); };
  for (std::size_t r = 2; r <= target.devices; ++r) {
    if (sum_of(r) < sum_of(last)) last = r;
  }
  double value = sum_of(last);
  STAGECRAFT_CHECK(value < kInfinity, "a partition reaches the least load");
  return follow_back(
      target, layers_, last,
      [&](std::size_t c, std::size_t p, std::size_t end, std::size_t r, std::size_t begin) {
        return begin >= ranges_[p].first &&
               counted(costs_.stage(begin, end, p, p + r)) + table_.row(c, p, r)[begin] == value;
      },
      [&](std::size_t c, std::size_t p, std::size_t begin, std::size_t r, std::size_t before) {
        const double own = sum(begin, c, before, p);
        if (own + counted(costs_.channel(begin, p, before, r)) != table_.row(c, p, r)[begin]) return false;
        value = own;
        return true;
      });
}

}  // namespace

std::vector<Partition> smallest_sums(const PartitionProblem& problem, const PartitionCosts& costs,
                                     const std::vector<LeastLoad>& targets, CutTable& table) {
  SumProgram program(problem, costs, table);
  std::vector<Partition> partitions(targets.size());
  for (std::size_t t = 0; t < targets.size(); ++t) {
    if (!partitions[t].stages.empty()) continue;
    std::size_t most = 0;
    for (const LeastLoad& other : targets) {
      if (other.load == targets[t].load) most = std::max(most, other.stages);
    }
    program.run(targets[t].load, most);
    for (std::size_t other = t; other < targets.size(); ++other) {
      if (targets[other].load == targets[t].load) partitions[other] = program.best(targets[other]);
    }
  }
  return partitions;
}

}  // namespace stagecraft::spp
