// The theorem's interval and the whole partition, against all cuts.
#include "planners/dawnpiper/interval.hpp"
#include "planners/dawnpiper/partition.hpp"
#include "tests/planners/dawnpiper_cases.hpp"
#include "tests/random_cases.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <optional>
#include <random>
#include <vector>

namespace stagecraft::dawnpiper_theorem_test {

using namespace stagecraft::testing;
using dawnpiper::Interval;
using dawnpiper::Partition;
using dawnpiper::PartitionSearch;

namespace {

/// The cost of saving so many bytes, of one of three kinds.
double saving_cost(int kind, double overflow) {
  if (overflow <= 0.0) return 0.0;
  if (kind == 0) return 0.5 * overflow;
  return kind == 1 ? std::pow(overflow, 1.7) : 4.0 * std::ceil(overflow / 5.0);
}

/// Two stages with a common cost of saving, by cut.
struct TwoStages {
  std::vector<double> compute;  ///< the larger of both
  std::vector<double> memory;
  std::vector<double> time;
};

TwoStages random_stages(std::mt19937& random) {
  const std::size_t units = 3 + random() % 7;
  const double behind = 1.0 + static_cast<double>(random() % 5);  // microbatches in flight
  const double before = behind + static_cast<double>(random() % 2);
  const bool stashes_weights = random() % 2 == 0;
  std::vector<double> f(units);
  std::vector<double> a(units);
  std::vector<double> w(units);
  double need = 0.0;
  for (std::size_t i = 0; i < units; ++i) {
    f[i] = static_cast<double>(random() % 6);
    a[i] = static_cast<double>(random() % 8);
    w[i] = static_cast<double>(random() % 4);
    need += before * a[i] + (stashes_weights ? before + 3 : 4) * w[i];
  }
  const double capacity = need * (0.2 + 0.5 * static_cast<double>(random() % 101) / 100.0);
  const int kind = static_cast<int>(random() % 3);
  TwoStages stages;
  for (std::size_t p = 1; p < units; ++p) {
    std::array<double, 2> compute{};
    std::array<double, 2> memory{};
    for (std::size_t i = 0; i < units; ++i) {
      const std::size_t side = i < p ? 0 : 1;
      const double in_flight = side == 0 ? before : behind;
      compute.at(side) += f[i];
      memory.at(side) += in_flight * a[i] + (stashes_weights ? in_flight + 3 : 4) * w[i];
    }
    stages.compute.push_back(std::max(compute[0], compute[1]));
    stages.memory.push_back(std::max(memory[0], memory[1]));
    stages.time.push_back(std::max(compute[0] + saving_cost(kind, memory[0] - capacity),
                                   compute[1] + saving_cost(kind, memory[1] - capacity)));
  }
  return stages;
}

double least_in(const std::vector<double>& values, const Interval& interval) {
  return *std::min_element(values.begin() + static_cast<std::ptrdiff_t>(interval.first),
                           values.begin() + static_cast<std::ptrdiff_t>(interval.last) + 1);
}

std::size_t first_least(const std::vector<double>& values) {
  return static_cast<std::size_t>(std::ranges::min_element(values) - values.begin());
}

/// The time of a stage with the best of all actions, keep, swap and recompute, by trying them all; infinite if nothing
/// fits.
class AllActions {
 public:
  explicit AllActions(const UnitPipeline& pipeline) : pipeline_(pipeline) {}

  double time(std::size_t stage, std::size_t begin, std::size_t end) {
    const auto [found, is_new] = known_.try_emplace({stage, begin, end}, 0.0);
    if (!is_new) return found->second;
    in_flight_ = static_cast<double>(pipeline_.in_flight(stage));
    resident_ = std::min(in_flight_, 2.0);
    end_ = end;
    best_ = std::numeric_limits<double>::infinity();
    double held = 0.0;
    for (std::size_t i = begin; i < end; ++i) {
      held += static_cast<double>(pipeline_.units[i].parameters * pipeline_.copies(stage));
    }
    choose(begin, {held, 0.0, 0.0, 0.0});
    return found->second = best_;
  }

 private:
  struct Sums {
    double memory = 0.0;
    double restored = 0.0;
    double compute = 0.0;
    double swapped = 0.0;
  };

  void choose(std::size_t i, const Sums& sums) {
    if (i == end_) {
      if (sums.memory + sums.restored > static_cast<double>(pipeline_.capacity)) return;
      const double copies = sums.swapped > 0.0 ? sums.swapped / pipeline_.bandwidth : 0.0;
      best_ = std::min(best_, std::max(sums.compute, copies));
      return;
    }
    const UnitNumbers& unit = pipeline_.units[i];
    const double time = sums.compute + unit.forward + unit.backward;
    const auto stash = static_cast<double>(unit.stash);
    const auto checkpoint = static_cast<double>(unit.checkpoint);
    // What the units before this one restore finds room that it has freed.
    choose(i + 1, {sums.memory + in_flight_ * stash, std::max(sums.restored - stash, 0.0), time, sums.swapped});
    choose(i + 1, {sums.memory + in_flight_ * checkpoint, std::max(sums.restored - checkpoint, stash - checkpoint),
                   time + unit.forward, sums.swapped});
    if (pipeline_.bandwidth > 0.0 && resident_ < in_flight_) {
      choose(i + 1, {sums.memory + resident_ * stash, sums.restored, time, sums.swapped + stash});
    }
  }

  const UnitPipeline& pipeline_;
  double in_flight_ = 0.0;
  double resident_ = 0.0;
  std::size_t end_ = 0;
  double best_ = 0.0;
  std::map<std::vector<std::size_t>, double> known_;
};

/// The least time of the slowest stage over all cuts.
double best_of_all_cuts(const UnitPipeline& pipeline, AllActions& actions, std::size_t stage, std::size_t begin) {
  const std::size_t units = pipeline.units.size();
  if (stage + 1 == pipeline.stages) return actions.time(stage, begin, units);
  double best = std::numeric_limits<double>::infinity();
  for (std::size_t end = begin + 1; end + (pipeline.stages - stage - 1) <= units; ++end) {
    best =
        std::min(best, std::max(actions.time(stage, begin, end), best_of_all_cuts(pipeline, actions, stage + 1, end)));
  }
  return best;
}

/// Units whose stages lack memory: a part of what the split with the most even computation would need.
UnitPipeline random_pipeline(std::mt19937& random, std::size_t units, std::size_t stages) {
  UnitPipeline pipeline;
  pipeline.stages = stages;
  pipeline.holds_to_end = false;
  pipeline.asynchronous = random() % 2 == 0;
  for (std::size_t i = 0; i < units; ++i) {
    UnitNumbers unit;
    unit.forward = static_cast<double>(1 + random() % 4);
    unit.backward = 2 * unit.forward;
    unit.parameters = static_cast<std::int64_t>(1 + random() % 4);
    unit.stash = static_cast<std::int64_t>(2 + random() % 10);
    unit.checkpoint = static_cast<std::int64_t>(random() % 3);
    unit.checkpoint = std::min(unit.checkpoint, unit.stash);
    pipeline.units.push_back(unit);
  }
  if (random() % 2 == 0) pipeline.bandwidth = 0.25 * static_cast<double>(1 + random() % 4);
  pipeline.capacity = std::numeric_limits<std::int64_t>::max();
  const std::vector<std::size_t> cuts = PartitionSearch(pipeline.problem(), {.margin = 0}).run()->cuts;
  Bytes need;
  for (std::size_t s = 0; s < stages; ++s) {
    const SavingStage stage = pipeline.stage(s, cuts[s], cuts[s + 1]);
    const std::vector<UnitAction> keep(stage.units.size(), UnitAction::Keep);
    need = std::max(need, saved_memory(stage, keep));
  }
  pipeline.capacity = need.value() * static_cast<std::int64_t>(60 + random() % 36) / 100;
  return pipeline;
}

}  // namespace

TEST_CASE("dawnpiper: with a common cost of saving a best cut is in the interval between the tie sets") {
  std::mt19937 random(20250509);
  const int cases = random_cases(100'000);
  int outside = 0;
  int outside_with_one_of_each = 0;
  for (int i = 0; i < cases; ++i) {
    const TwoStages stages = random_stages(random);
    const double least = *std::ranges::min_element(stages.time);
    const Interval interval = dawnpiper::theorem_interval(stages.compute, stages.memory);
    if (least_in(stages.time, interval) > least) ++outside;
    const std::size_t balanced = first_least(stages.compute);
    const std::size_t level = first_least(stages.memory);
    if (least_in(stages.time, {std::min(balanced, level), std::max(balanced, level)}) > least)
      ++outside_with_one_of_each;
  }
  CHECK(outside == 0);
  CHECK(outside_with_one_of_each > 0);  // so the tie sets are needed
}

TEST_CASE("dawnpiper: with a margin of 1 and exact savings the partition is the best of all cuts") {
  std::mt19937 random(7);
  const int cases = random_cases(300);
  int feasible = 0;
  int best = 0;
  for (int i = 0; i < cases; ++i) {
    CAPTURE(i);
    const UnitPipeline pipeline = random_pipeline(random, 12, 4);
    AllActions actions(pipeline);
    const double least = best_of_all_cuts(pipeline, actions, 0, 0);
    const std::optional<Partition> found = PartitionSearch(pipeline.problem(), {.margin = 1, .exact = true}).run();
    CHECK(found.has_value() == std::isfinite(least));
    if (!found) continue;
    ++feasible;
    CHECK(found->time.value() >= least - 1e-9);
    CHECK(found->time.value() <= 1.2 * least);
    if (found->time.value() <= least + 1e-9) ++best;
  }
  CHECK(feasible > cases / 2);
  CHECK(best * 100 >= feasible * 99);
  MESSAGE(best << " of " << feasible);
}

}  // namespace stagecraft::dawnpiper_theorem_test
