#include "sim/model/layer_moves.hpp"

#include "sim/model/graph_order.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <map>
#include <utility>

namespace stagecraft {
namespace {

/// The stage without its layers and what is done with their stash.
Stage frame_of(const Stage& stage) {
  Stage frame = stage;
  frame.layers.clear();
  frame.memory.clear();
  return frame;
}

/// Why the stages of two plans are not the same but for their layers; empty if they are.
std::string differing_frames(const Plan& before, const Plan& after) {
  if (before.stages.size() != after.stages.size()) return "the plans have different numbers of stages";
  if (before.schedule != after.schedule || before.training != after.training ||
      before.rounds_per_update != after.rounds_per_update || before.microbatch_size != after.microbatch_size) {
    return "the plans train differently";
  }
  for (std::size_t s = 0; s < before.stages.size(); ++s) {
    const Stage& stage = before.stages[s];
    if (frame_of(stage) != frame_of(after.stages[s])) return fmt::format("stage {} goes to other devices", s);
    if (stage.in_flight) return fmt::format("stage {} has a cap on its microbatches in flight", s);
    if (stage.swap_weight_versions) return fmt::format("stage {} keeps weights in host memory", s);
    if (stage.pipeline > 0) return "the plan has several pipelines";
    if (!covers_all(stage) || !covers_all(after.stages[s])) {
      return fmt::format("stage {} has memory actions for some microbatches only", s);
    }
  }
  return "";
}

IndexVector<LayerId, std::size_t> stages_by_layer(const LayerGraph& graph, const Plan& plan) {
  IndexVector<LayerId, std::size_t> stages(graph.layers.size());
  for (std::size_t s = 0; s < plan.stages.size(); ++s) {
    for (LayerId layer : plan.stages[s].layers) stages[layer] = s;
  }
  return stages;
}

bool is_among(const std::vector<LayerId>& layers, LayerId layer) { return std::ranges::count(layers, layer) > 0; }

/// Why what is done with the layers' stash does not let them go; empty if it does.
std::string held_by_action(const LayerGraph& graph, const Stage& stage, const std::vector<LayerId>& moving) {
  for (const MemoryAction& action : stage.memory) {
    const auto& layers = std::visit([](const auto& one) -> const std::vector<LayerId>& { return one.layers; }, action);
    const auto goes = std::ranges::count_if(layers, [&](LayerId layer) { return is_among(moving, layer); });
    if (goes == 0) continue;
    if (swaps(action)) {
      return fmt::format("the stash of layer '{}' is in host memory", graph.layers[layers.front()].name);
    }
    if (goes < std::ssize(layers)) {
      return fmt::format("the segment of layer '{}' would be divided while it is to be recomputed",
                         graph.layers[layers.front()].name);
    }
  }
  return "";
}

std::string why_stage_cannot_give(const LayerGraph& graph, const Plan& plan, const LayerMove& move) {
  for (StageId stage : {move.from, move.to}) {
    if (plan.stages[stage.value()].replicas.size() > 1) {
      return fmt::format("stage {} has several replicas", stage.value());
    }
  }
  for (const TiedParameters& tied : graph.tied) {
    for (LayerId layer : tied.layers) {
      if (!is_among(move.layers, layer)) continue;
      return fmt::format("layer '{}' has parameters in common with others", graph.layers[layer].name);
    }
  }
  return held_by_action(graph, plan.stages[move.from.value()], move.layers);
}

}  // namespace

std::variant<LayerMoves, std::string> layer_moves(const LayerGraph& graph, const Plan& before, const Plan& after) {
  if (std::string why = differing_frames(before, after); !why.empty()) return why;
  const IndexVector<LayerId, std::size_t> next = stages_by_layer(graph, after);
  std::map<std::size_t, LayerMove> by_boundary;  // by the earlier of the two stages
  for (std::size_t s = 0; s < before.stages.size(); ++s) {
    for (LayerId layer : before.stages[s].layers) {
      const std::size_t to = next[layer];
      if (to == s) continue;
      if (std::max(to, s) - std::min(to, s) > 1) {
        return fmt::format("layer '{}' moves by more than one stage", graph.layers[layer].name);
      }
      LayerMove& move = by_boundary.try_emplace(std::min(s, to), LayerMove{StageId(s), StageId(to), {}}).first->second;
      if (move.from != StageId(s)) return fmt::format("stages {} and {} exchange layers", std::min(s, to), s);
      move.layers.push_back(layer);
    }
  }
  LayerMoves moves;
  Plan plan = before;
  for (auto& [boundary, move] : by_boundary) {
    if (std::string why = why_stage_cannot_give(graph, plan, move); !why.empty()) return why;
    plan = after_move(graph, plan, move);
    if (plan.stages[move.from.value()].layers.empty()) {
      return fmt::format("stage {} gives all its layers away before it gets others", move.from.value());
    }
    moves.push_back(std::move(move));
  }
  return moves;
}

Plan after_move(const LayerGraph& graph, const Plan& plan, const LayerMove& move) {
  Plan next = plan;
  Stage& from = next.stages[move.from.value()];
  Stage& to = next.stages[move.to.value()];
  std::erase_if(from.layers, [&](LayerId layer) { return is_among(move.layers, layer); });
  to.layers.insert(to.layers.end(), move.layers.begin(), move.layers.end());
  IndexVector<LayerId, std::size_t> position(graph.layers.size());
  std::size_t at = 0;
  for (LayerId layer : canonical_order(graph)) position[layer] = at++;
  std::ranges::sort(to.layers, {}, [&](LayerId layer) { return position[layer]; });
  const auto stays = std::stable_partition(from.memory.begin(), from.memory.end(), [&](const MemoryAction& action) {
    return !std::visit([&](const auto& one) { return is_among(move.layers, one.layers.front()); }, action);
  });
  std::move(stays, from.memory.end(), std::back_inserter(to.memory));
  from.memory.erase(stays, from.memory.end());
  return next;
}

}  // namespace stagecraft
