#include "sim/analytic/period_bound.hpp"

#include "sim/model/plan.hpp"
#include "sim/schedule/measured_part.hpp"

#include <algorithm>
#include <span>
#include <utility>

namespace stagecraft {
namespace {

/// The microbatches of the run's whole rounds.
std::int64_t in_whole_rounds(const Plan& plan, const Replicas& replicas) {
  const std::int64_t round = whole_round(plan, replicas);
  return plan.microbatches / round * round;
}

}  // namespace

PeriodBound::PeriodBound(Occupancy& occupancy, const Plan& plan, std::vector<std::int64_t> in_flight)
    : occupancy_(occupancy),
      plan_(plan),
      in_flight_(std::move(in_flight)),
      counted_(in_whole_rounds(plan, occupancy.replicas())) {
  const Replicas& replicas = occupancy.replicas();
  for (const StageId id : indices<StageId>(plan.stages.size())) {
    const Stage& stage = plan.stages[id.value()];
    const std::int64_t window = covers_all(stage) ? 1 : window_of(stage) * replicas[replicas.of(id).front()].turns;
    counted_of_.push_back(counted_ / window * window);
  }
}

/// Updates are numbered by themselves, everything else by microbatch.
bool PeriodBound::counts(const Op& op) const {
  if (op.kind != OpKind::Update) return std::int64_t{op.microbatch} < counted_of(op.stage);
  const Replica& replica = occupancy_.replicas()[occupancy_.replica_of(op)];
  return std::int64_t{op.microbatch} < counted_ / (replica.turns * plan_.rounds_per_update);
}

void PeriodBound::add(const Op& op, std::span<const LaneId> extra) {
  if (!counts(op)) return;
  for (const Occupied& part : occupancy_.of(op, extra)) {
    sums_.resize(std::max(sums_.size(), part.resource + 1));
    sums_[part.resource] += part.time;
  }
}

LowerBound PeriodBound::finish(const Residences& residences) const {
  LowerBound bound;
  const auto microbatches = static_cast<double>(counted_);
  for (std::size_t resource = 0; resource < sums_.size(); ++resource) {
    bound.raise_to(sums_[resource] / microbatches, occupancy_.cause(resource));
  }
  if (in_flight_.empty()) return bound;
  const Replicas& replicas = occupancy_.replicas();
  for (ReplicaId replica : replicas.all()) {
    BoundCause cause;
    cause.kind = BoundCause::Kind::InFlight;
    cause.stage = replicas[replica].stage;
    const auto most = static_cast<double>(in_flight_[cause.stage.value()]);
    bound.raise_to(residences.sum(replica, counted_of(cause.stage)) / (most * microbatches), cause);
  }
  return bound;
}

}  // namespace stagecraft
