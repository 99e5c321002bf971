#include "sim/analytic/period_bound.hpp"

#include "sim/analytic/occupancy.hpp"
#include "sim/analytic/residences.hpp"
#include "sim/model/plan.hpp"

#include <algorithm>
#include <cstddef>
#include <map>

namespace stagecraft {
namespace {

class PeriodBound {
 public:
  /// `counted`: the microbatches of the run's whole rounds.
  PeriodBound(const SampledRun& run, const Plan& plan, std::int64_t counted) : run_(run), counted_(counted) {
    for (const StageId id : indices<StageId>(plan.stages.size())) {
      const Stage& stage = plan.stages[id.value()];
      const std::int64_t turns = run.replicas()[run.replicas().of(id).front()].turns;
      const std::int64_t window = covers_all(stage) ? 1 : window_of(stage) * turns;
      counted_of_.push_back(counted / window * window);
      counts_.try_emplace(counted_of_.back());
    }
    for (auto& [microbatches, counts] : counts_) counts = run.representatives().counts(microbatches);
  }

  void raise_to_resources(LowerBound& bound, bool shares_links) const {
    Occupancy occupancy(run_, shares_links);
    std::vector<Seconds> sums;
    for (std::size_t at = 0; at < run_.ops().size(); ++at) {
      const double times = count(run_.ops()[at].op);
      for (const Occupied& part : occupancy.of(at)) {
        sums.resize(std::max(sums.size(), part.resource + 1));
        sums[part.resource] += part.time * times;
      }
    }
    for (std::size_t resource = 0; resource < sums.size(); ++resource) {
      bound.raise_to(sums[resource] / static_cast<double>(counted_), occupancy.cause(resource));
    }
  }

  void raise_to_in_flight(LowerBound& bound, const std::vector<std::int64_t>& most) const {
    if (most.empty()) return;
    const auto found = residences(run_);
    for (const ReplicaId replica : run_.replicas().all()) {
      BoundCause cause;
      cause.kind = BoundCause::Kind::InFlight;
      cause.stage = run_.replicas()[replica].stage;
      Seconds sum;
      for (const Residence& residence : found[replica]) {
        sum += residence.time * count(residence.microbatch, cause.stage);
      }
      const auto places = static_cast<double>(most[cause.stage.value()] * counted_);
      bound.raise_to(sum / places, cause);
    }
  }

 private:
  [[nodiscard]] double count(std::uint32_t microbatch, StageId stage) const {
    return static_cast<double>(run_.representatives().count(microbatch, counts_.at(counted_of_[stage.value()])));
  }
  /// How many operations of the run it stands for. Updates are numbered by themselves, all-reduces by microbatch.
  [[nodiscard]] double count(const Op& op) const {
    if (is_of_microbatch(op.kind)) return count(op.microbatch, op.stage);
    const std::int64_t rounds = counted_ / run_.round();
    if (op.kind == OpKind::Update || op.stage.is_none()) return static_cast<double>(rounds);
    const std::int64_t left = counted_of_[op.stage.value()] - op.microbatch;
    return static_cast<double>(std::max<std::int64_t>(0, (left + run_.round() - 1) / run_.round()));
  }

  const SampledRun& run_;
  std::int64_t counted_;
  std::vector<std::int64_t> counted_of_;                      ///< by stage, at most `counted_`
  std::map<std::int64_t, std::vector<std::int64_t>> counts_;  ///< of representatives, by such a number
};

}  // namespace

LowerBound period_bound(const SampledRun& run, const Plan& plan, const std::vector<std::int64_t>& in_flight,
                        bool shares_links) {
  LowerBound bound;
  const std::int64_t counted = plan.microbatches / run.round() * run.round();
  if (counted == 0) return bound;
  const PeriodBound of(run, plan, counted);
  of.raise_to_resources(bound, shares_links);
  of.raise_to_in_flight(bound, in_flight);
  return bound;
}

}  // namespace stagecraft
