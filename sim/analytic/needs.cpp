#include "sim/analytic/needs.hpp"

namespace stagecraft {
namespace {

/// Whether the operation is one of those that a replica runs for a microbatch, one after the other.
bool is_step(OpKind kind) {
  return kind == OpKind::Forward || kind == OpKind::Recompute || kind == OpKind::Backward ||
         kind == OpKind::BackwardInput || kind == OpKind::BackwardWeight;
}

}  // namespace

/// A forward waits for earlier backwards, and a copy back for earlier computations, only because the order or the cap
/// says so.
bool Needs::is_needed(const Op& op, OpId earlier) const {
  const OpKind kind = kinds_[earlier.value()];
  if (op.kind == OpKind::Forward) return !is_compute(kind) || kind == OpKind::Forward;
  if (op.kind == OpKind::SwapIn) return kind == OpKind::SwapOut;
  return true;
}

std::span<const OpId> Needs::of(const OpGraph& window, std::size_t i) {
  const Op& op = window.ops[i];
  needs_.clear();
  for (OpId earlier : window.dependencies_of(i)) {
    if (is_needed(op, earlier)) needs_.push_back(earlier);
  }
  if (is_step(op.kind) && occupancy_.is_strict(op.lane)) {
    const OpId id(window.first_id.value() + i);
    const auto [last, is_first] = last_.try_emplace({occupancy_.replica_of(op), op.microbatch}, id);
    if (!is_first) needs_.push_back(last->second);
    last->second = id;
    if (op.closes) last_.erase(last);
  }
  kinds_.push_back(op.kind);
  return needs_;
}

}  // namespace stagecraft
