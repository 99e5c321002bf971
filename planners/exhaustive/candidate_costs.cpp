#include "planners/exhaustive/candidate_costs.hpp"

#include "planners/shared/cost_model.hpp"
#include "sim/model/bandwidths.hpp"
#include "sim/model/graph_order.hpp"
#include "sim/schedule/boundaries.hpp"
#include "sim/schedule/stage_program.hpp"

#include <algorithm>

namespace stagecraft::exhaustive {
namespace {

Seconds largest_transfer(const PlanRequest& request, const Plan& plan) {
  Seconds largest{0};
  for (const Boundary& boundary : boundaries(request.graph, plan)) {
    const Stage& from = plan.stages[boundary.from.value()];
    const Stage& to = plan.stages[boundary.to.value()];
    const auto lanes = static_cast<double>(std::min(from.replicas.size(), to.replicas.size()));
    const std::optional<BytesPerSecond> narrowest =
        smallest_bandwidth(request.platform, devices_of(from), devices_of(to)).bandwidth;
    largest = std::max(largest, boundary.bytes / narrowest.value_or(BytesPerSecond(kNever.value())) / lanes);
  }
  return largest;
}

Bytes parameters_of(const LayerGraph& graph, const Stage& stage) {
  Bytes sum;
  for (LayerId layer : stage.layers) sum += graph.layers[layer].parameters;
  return sum;
}

}  // namespace

Figures claim(const PlanRequest& request, const Plan& plan) {
  Seconds period{0};
  Seconds work{0};
  Seconds stage_largest{0};
  Seconds end{0};
  for (const Stage& stage : plan.stages) {
    const StageTime time = stage_time(request.graph, request.platform, stage);
    const Bytes parameters = parameters_of(request.graph, stage);
    const Seconds all_reduce = ring_beyond_backward(request.graph, request.platform, request.training, stage);
    const Seconds update = slowest_update(request.platform, request.training, devices_of(stage), parameters);
    const auto replicas = static_cast<std::int64_t>(stage.replicas.size());
    const double share = 1.0 / static_cast<double>(replicas);
    const bool split = stage.replication == Replication::Split;
    const Seconds once = time.total() * (split ? share : 1.0);
    const std::int64_t rounds = split ? plan.microbatches : (plan.microbatches + replicas - 1) / replicas;
    const Seconds round = split ? time.backward * share + std::max(time.forward * share, all_reduce) + update
                                : (time.backward + std::max(time.forward, all_reduce) + update) * share;
    period = std::max(period, round);
    work = std::max(work, once * static_cast<double>(rounds));
    stage_largest = std::max(stage_largest, once);
    end = std::max(end, all_reduce + update);
  }
  const Seconds transfer = largest_transfer(request, plan);
  Figures figures;
  if (is_asynchronous(plan.schedule)) {
    figures.period = std::max(period, transfer);
  } else {
    figures.iteration_time = std::max(work, transfer * static_cast<double>(plan.microbatches)) +
                             stage_largest * static_cast<double>(plan.stages.size() - 1) + end;
  }
  return figures;
}

LeastCosts::LeastCosts(const PlanRequest& request) : microbatches_(request.microbatches) {
  copies_ = 1 + request.training.gradient_copies + request.training.optimizer_copies;
  seconds_.push_back(0.0);
  parameters_.emplace_back();
  stash_.emplace_back();
  for (LayerId id : canonical_order(request.graph)) {
    const Layer& layer = request.graph.layers[id];
    seconds_.push_back(seconds_.back() + (layer.forward + layer.backward).value());
    parameters_.push_back(parameters_.back() + layer.parameters);
    stash_.push_back(stash_.back() + layer.stash);
  }
  for (DeviceId device : indices(request.platform.devices)) {
    factors_.push_back(slowest_factor(request.graph, request.platform, {device}));
    memory_.push_back(request.platform.kind(device).memory);
    reserved_.push_back(request.platform.kind(device).reserved);
  }
}

double LeastCosts::time(const Piece& piece, std::size_t first_device) const {
  const double seconds = seconds_[piece.end] - seconds_[piece.begin];
  double busiest = 0.0;
  for (std::size_t replica = 0; replica < piece.replicas; ++replica) {
    const auto replicas = static_cast<std::int64_t>(piece.replicas);
    const std::int64_t own = turns_taken(static_cast<std::int64_t>(replica), replicas, microbatches_);
    const double rounds =
        piece.split ? static_cast<double>(microbatches_) / static_cast<double>(replicas) : static_cast<double>(own);
    busiest = std::max(busiest, rounds * seconds * factors_[first_device + replica]);
  }
  return busiest;
}

Bytes LeastCosts::memory_needed(const Piece& piece, std::size_t first_device) const {
  const Bytes stash = stash_[piece.end] - stash_[piece.begin];
  const Bytes own = piece.split ? Bytes(stash.value() / static_cast<std::int64_t>(piece.replicas)) : stash;
  const Bytes held = (parameters_[piece.end] - parameters_[piece.begin]) * copies_ + own;
  Bytes needed{0};
  for (std::size_t device = first_device; device < first_device + piece.replicas; ++device) {
    const Bytes with_reserved = held + reserved_[device];
    if (with_reserved > memory_[device]) needed = std::max(needed, with_reserved);
  }
  return needed;
}

}  // namespace stagecraft::exhaustive
