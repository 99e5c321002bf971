#include "sim/analytic/sampled_run.hpp"

#include <algorithm>

namespace stagecraft {
namespace {

/// Whether the operation is one of those that a replica runs for a microbatch, one after the other.
bool is_step(OpKind kind) {
  return kind == OpKind::Forward || kind == OpKind::Recompute || kind == OpKind::Backward ||
         kind == OpKind::BackwardInput || kind == OpKind::BackwardWeight || kind == OpKind::Exchange;
}

/// A forward waits for earlier backwards, and a copy back for earlier computations, only because the order or the cap
/// says so.
bool is_needed(OpKind kind, OpKind earlier) {
  if (kind == OpKind::Forward) return earlier == OpKind::Forward || !is_compute(earlier);
  if (kind == OpKind::SwapIn) return earlier == OpKind::SwapOut;
  return true;
}

}  // namespace

SampledRun::SampledRun(const Platform& platform, const Replicas& replicas, Sampling sampling)
    : platform_(platform),
      replicas_(replicas),
      sampling_(std::move(sampling)),
      cost_(platform),
      misses_end_(replicas.size()) {}

void SampledRun::add(const OpGraph& window) {
  if (!window.new_stages.empty() && !lanes_.empty()) is_one_plan_ = false;
  if (has_ended_ || !is_one_plan_ || ops_.size() >= kMost) return;
  lanes_.insert(lanes_.end(), window.new_lanes.begin(), window.new_lanes.end());
  std::span<const LaneId> extra_lanes = window.extra_lanes;
  position_of_.reserve(window.ops.size());
  for (std::size_t i = 0; i < window.ops.size() && !has_ended_ && ops_.size() < kMost; ++i) {
    const Op& op = window.ops[i];
    std::uint32_t& position = position_of_.extend();
    position = kUnsampled;
    const bool is_sampled = has(op);
    if (op.closes && is_strict(op.lane)) misses_end_[replica_at(op.from, op)] = is_sampled ? 0 : 1;
    if (is_sampled) {
      position = static_cast<std::uint32_t>(ops_.size());
      add(window, i, extra_lanes.first(op.extra_lanes));
    }
    extra_lanes = extra_lanes.subspan(op.extra_lanes);
    has_ended_ = sampling_.round == 0 && op.kind == OpKind::Barrier;
  }
  position_of_.drop_before(std::clamp(window.retired.value(), position_of_.begin(), position_of_.end()));
}

bool SampledRun::has(const Op& op) const {
  if (is_of_microbatch(op.kind)) return sampling_.takes_all || sampling_.representatives.has(op.microbatch);
  if (sampling_.round == 0) return true;
  if (is_ring_flow(op.kind)) return op.microbatch < sampling_.round;
  if (op.kind != OpKind::Update) return false;
  const std::int64_t apart = replicas_[replica_at(op.from, op)].turns * sampling_.rounds_per_update;
  return op.microbatch < sampling_.round / apart;
}

void SampledRun::add(const OpGraph& window, std::size_t i, std::span<const LaneId> extra_lanes) {
  SampledOp sampled;
  sampled.op = window.ops[i];
  sampled.time = is_transfer(sampled.op.kind) ? cost_(sampled.op) : sampled.op.seconds;
  const std::size_t before = needs_.size();
  add_needs(window, i);
  for (std::size_t k = before; k < needs_.size(); ++k) {
    const SampledOp& earlier = ops_[needs_[k]];
    sampled.head = std::max(sampled.head, earlier.head + earlier.time);
  }
  extra_lanes_.insert(extra_lanes_.end(), extra_lanes.begin(), extra_lanes.end());
  sampled.needs_end = static_cast<std::uint32_t>(needs_.size());
  sampled.lanes_end = static_cast<std::uint32_t>(extra_lanes_.size());
  ops_.push_back(sampled);
}

/// What is not in the sample has a representative there, which takes as long.
void SampledRun::add_needs(const OpGraph& window, std::size_t i) {
  const Op& op = window.ops[i];
  for (const OpId earlier : window.before_start(i)) {
    const std::uint32_t position = position_of_[earlier.value()];
    if (position != kUnsampled && is_needed(op.kind, ops_[position].op.kind)) needs_.push_back(position);
  }
  if (!is_step(op.kind) || !is_strict(op.lane)) return;
  const auto own = static_cast<std::uint32_t>(ops_.size());
  const auto [last, is_first] = last_.try_emplace({replica_at(op.from, op), op.microbatch}, own);
  if (!is_first) needs_.push_back(last->second);
  last->second = own;
  if (op.closes) last_.erase(last);
}

}  // namespace stagecraft
