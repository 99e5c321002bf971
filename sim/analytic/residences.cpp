#include "sim/analytic/residences.hpp"

#include "sim/model/plan.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

namespace stagecraft {
namespace {

constexpr std::int64_t kMostLookedAt = 1024;  ///< microbatches of a round

/// Whether the operation belongs to one microbatch and may lie between its forward and its backward.
bool is_of_microbatch(OpKind kind) {
  switch (kind) {
    case OpKind::Forward:
    case OpKind::Backward:
    case OpKind::BackwardInput:
    case OpKind::BackwardWeight:
    case OpKind::Recompute:
    case OpKind::Post:
    case OpKind::Activation:
    case OpKind::Gradient:
    case OpKind::SwapOut:
    case OpKind::SwapIn: return true;
    default: return false;
  }
}

/// Turns and the windows of all stages; no run is longer than the limit.
std::int64_t round_of(const Replicas& replicas, const Plan& plan) {
  constexpr std::int64_t kLongest = 1'000'000'000'000;
  std::int64_t windows = 1;
  for (const Stage& stage : plan.stages) {
    windows = std::lcm(windows, window_of(stage));
    if (windows > kLongest / replicas.round()) return kLongest;
  }
  return windows * replicas.round();
}

}  // namespace

Residences::Residences(const Platform& platform, const Replicas& replicas, const Plan& plan)
    : platform_(platform),
      replicas_(replicas),
      round_(round_of(replicas, plan)),
      looked_at_(std::min({plan.microbatches, round_, kMostLookedAt})),
      found_(replicas.size()) {}

void Residences::add(OpId id, const Op& op, Seconds time, std::span<const OpId> dependencies) {
  if (!is_of_microbatch(op.kind) || std::int64_t{op.microbatch} >= looked_at_) return;
  Chains chains;
  for (OpId earlier : dependencies) {
    const auto before = known_.find(earlier.value());
    if (before != known_.end() && before->second.microbatch == op.microbatch) merge(chains, before->second.chains);
  }
  for (auto& [replica, longest] : chains) longest += time;
  if (is_compute(op.kind)) {
    const ReplicaId own = replicas_.on(platform_.device(op.from))[op.chunk];
    if (op.kind == OpKind::Forward) chains.emplace_back(own, time);
    const auto known = std::ranges::find(chains, own, &Chains::value_type::first);
    if (op.closes && known != chains.end()) found_[own].emplace_back(op.microbatch, known->second);
  }
  known_.emplace(id.value(), Known{op.microbatch, std::move(chains)});
}

void Residences::merge(Chains& into, const Chains& chains) {
  for (const auto& [replica, longest] : chains) {
    const auto known = std::ranges::find(into, replica, &Chains::value_type::first);
    if (known == into.end()) {
      into.emplace_back(replica, longest);
    } else {
      known->second = std::max(known->second, longest);
    }
  }
}

Seconds Residences::sum(ReplicaId replica, std::int64_t microbatches) const {
  Seconds sum;
  for (const auto& [microbatch, time] : found_[replica]) {
    if (microbatch >= microbatches) continue;
    const std::int64_t times = (microbatches - microbatch + round_ - 1) / round_;
    sum += time * static_cast<double>(times);
  }
  return sum;
}

}  // namespace stagecraft
