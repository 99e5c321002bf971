#include "sim/model/op_graph.hpp"

#include <utility>

namespace stagecraft {

const char* to_string(OpKind kind) {
  switch (kind) {
    case OpKind::Forward: return "forward";
    case OpKind::Backward: return "backward";
    case OpKind::BackwardInput: return "backward-input";
    case OpKind::BackwardWeight: return "backward-weight";
    case OpKind::ForwardBackward: return "forward-backward";
    case OpKind::Recompute: return "recompute";
    case OpKind::Update: return "update";
    case OpKind::Exchange: return "exchange";
    case OpKind::Post: return "post";
    case OpKind::Activation: return "activation";
    case OpKind::Gradient: return "gradient";
    case OpKind::AllReduce: return "all-reduce";
    case OpKind::ReduceScatter: return "reduce-scatter";
    case OpKind::AllGather: return "all-gather";
    case OpKind::ExchangeFlow: return "exchange-flow";
    case OpKind::SwapOut: return "swap-out";
    case OpKind::SwapIn: return "swap-in";
    case OpKind::Migration: return "migration";
    case OpKind::Delay: return "delay";
    case OpKind::Save: return "save";
    case OpKind::CollectiveBegin: return "collective-begin";
    case OpKind::CollectiveEnd: return "collective-end";
    case OpKind::Barrier: return "barrier";
    case OpKind::Setup: return "setup";
    case OpKind::Abandon: return "abandon";
  }
  return "?";
}

const char* to_string(Migrated migrated) {
  switch (migrated) {
    case Migrated::State: return "state";
    case Migrated::Weights: return "weights";
    case Migrated::Optimizer: return "optimizer";
    case Migrated::Stash: return "stash";
  }
  return "?";
}

const char* to_string(MemoryCategory category) {
  switch (category) {
    case MemoryCategory::Weights: return "weights";
    case MemoryCategory::Gradients: return "gradients";
    case MemoryCategory::Optimizer: return "optimizer";
    case MemoryCategory::Stash: return "stash";
    case MemoryCategory::Buffers: return "buffers";
    case MemoryCategory::Workspace: return "workspace";
  }
  return "?";
}

OpSource single_window(OpGraph graph, bool one_pass) {
  std::optional<OpGraph> window(std::move(graph));
  return {[window = std::move(window)](const Observation&) mutable { return std::exchange(window, std::nullopt); },
          one_pass};
}

}  // namespace stagecraft
