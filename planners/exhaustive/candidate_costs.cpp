#include "planners/exhaustive/candidate_costs.hpp"

#include "planners/shared/costs/cost_model.hpp"
#include "sim/model/graph_order.hpp"
#include "sim/schedule/memory_ledger.hpp"

#include <algorithm>

namespace stagecraft::exhaustive {

LeastCosts::LeastCosts(const PlanRequest& request, bool by_speed)
    : times_(request.graph, request.platform.devices.size()),
      parameters_(parameter_sums(request.graph, canonical_order(request.graph))),
      experts_(expert_sums(request.graph, canonical_order(request.graph))),
      stash_(stash_sums(request.graph, canonical_order(request.graph))),
      training_(request.training),
      microbatches_(request.microbatches),
      samples_(request.graph.microbatch_size),
      copies_(request.graph.copies),
      by_speed_(by_speed) {
  for (DeviceId device : indices(request.platform.devices)) {
    factors_.push_back(slowest_factor(request.graph, request.platform, {device}));
    memory_.push_back(request.platform.memory(device));
    reserved_.push_back(request.platform.kind(device).reserved);
  }
}

bool LeastCosts::may_be_unequal(const Piece& piece) const {
  const auto factor = [&](DeviceId device) { return factors_[device.value()]; };
  return by_speed_ && std::ranges::any_of(piece.devices, [&](DeviceId device) {
           return factor(device) != factor(piece.devices.front());
         });
}

double LeastCosts::time(const Piece& piece) const {
  const bool is_unequal = may_be_unequal(piece);
  if (is_unequal && piece.split) return 0.0;
  const std::size_t parts = piece.split ? piece.devices.size() : 1;
  const std::vector<double>& sums = times_.of(parts).total;
  const auto replicas = static_cast<std::int64_t>(piece.devices.size());
  double seconds = (sums[piece.end] - sums[piece.begin]) / times_.divisor(parts);
  const std::int64_t smallest = samples_ / replicas;
  if (piece.split && samples_ % replicas != 0) {  // of the smallest share, as any device may have it
    seconds *= static_cast<double>(smallest) / static_cast<double>(smallest + 1);
  }
  double busiest = 0.0;
  double speeds = 0.0;
  for (std::size_t replica = 0; replica < piece.devices.size(); ++replica) {
    const double factor = factors_[piece.devices[replica].value()];
    const std::int64_t own = Rotation(replicas).count(static_cast<std::uint32_t>(replica), microbatches_);
    const auto rounds = static_cast<double>(piece.split ? microbatches_ : own);
    busiest = std::max(busiest, rounds * seconds * factor);
    speeds += 1.0 / factor;
  }
  return is_unequal ? static_cast<double>(microbatches_) * seconds / speeds : busiest;
}

Bytes LeastCosts::memory_needed(const Piece& piece) const {
  const Bytes stash = stash_(piece.begin, piece.end);
  const auto replicas = static_cast<std::int64_t>(piece.devices.size());
  const std::int64_t smallest = may_be_unequal(piece) ? 0 : samples_ / replicas;  // the smallest share
  const double part = static_cast<double>(smallest) / static_cast<double>(samples_);
  const Bytes own = piece.split ? Bytes(static_cast<std::int64_t>(static_cast<double>(stash.value()) * part)) : stash;
  const HeldParameters parameters{parameters_(piece.begin, piece.end), 1, replicas * copies_.plain,
                                  experts_(piece.begin, piece.end), replicas * copies_.experts};
  const Bytes held = kept_state(training_, parameters).total() + own;
  Bytes needed{0};
  for (const DeviceId device : piece.devices) {
    const Bytes with_reserved = held + reserved_[device.value()];
    if (with_reserved > memory_[device.value()]) needed = std::max(needed, with_reserved);
  }
  return needed;
}

}  // namespace stagecraft::exhaustive
