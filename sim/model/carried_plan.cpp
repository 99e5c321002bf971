#include "sim/model/carried_plan.hpp"

#include "sim/base/counted.hpp"
#include "sim/base/error.hpp"
#include "sim/base/text.hpp"
#include "sim/model/graph_order.hpp"
#include "sim/model/replicas.hpp"

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <optional>
#include <unordered_map>
#include <utility>
#include <variant>
#include <vector>

namespace stagecraft {
namespace {

/// A stage of one pipeline, and which of its actions a layer is in.
struct Seat {
  bool is_taken = false;
  std::size_t stage = 0;              ///< position in the pipeline
  std::optional<std::size_t> action;  ///< position in the stage's list; none: the stash is kept
};

std::optional<std::size_t> action_of(const Stage& stage, LayerId layer) {
  for (std::size_t i = 0; i < stage.memory.size(); ++i) {
    const bool is_in =
        std::visit([&](const auto& action) { return std::ranges::count(action.layers, layer) > 0; }, stage.memory[i]);
    if (is_in) return i;
  }
  return std::nullopt;
}

/// The stages of one pipeline, with the layers of another model.
class CarriedPipeline {
 public:
  CarriedPipeline(const Plan& plan, std::uint32_t pipeline, const LayerGraph& before) : seats_(before.layers.size()) {
    for (const Stage& stage : plan.stages) {
      if (stage.pipeline != pipeline) continue;
      for (LayerId layer : stage.layers) seats_[layer] = {true, stages_.size(), action_of(stage, layer)};
      stages_.push_back(stage);
      clear(stages_.back());
    }
  }

  void fill(const LayerGraph& after, const IndexVector<LayerId, LayerId>& known) {
    const Adjacency edges = adjacency(after);
    IndexVector<LayerId, std::size_t> stage_of(after.layers.size());
    std::vector<std::optional<std::size_t>> last_action(stages_.size());  // of the last layer of each stage
    for (LayerId layer : canonical_order(after)) {
      const Seat seat = known[layer].is_none() ? Seat() : seats_[known[layer]];
      std::size_t at = seat.stage;
      for (const std::size_t edge : edges.incoming[layer]) at = std::max(at, stage_of[after.edges[edge].from]);
      stage_of[layer] = at;
      if (seat.is_taken && seat.stage == at) last_action[at] = seat.action;
      add(stages_[at], layer, last_action[at]);
    }
  }

  [[nodiscard]] const std::vector<Stage>& stages() const { return stages_; }

 private:
  static void clear(Stage& stage) {
    stage.layers.clear();
    for (MemoryAction& action : stage.memory) std::visit([](auto& one) { one.layers.clear(); }, action);
  }
  static void add(Stage& stage, LayerId layer, const std::optional<std::size_t>& action) {
    stage.layers.push_back(layer);
    if (action) std::visit([&](auto& one) { one.layers.push_back(layer); }, stage.memory[*action]);
  }

  std::vector<Stage> stages_;
  IndexVector<LayerId, Seat> seats_;  ///< by layer of the model before
};

/// Recomputed layers are one segment as long as they follow each other in the stage. Actions without layers go.
void divide_segments(Stage& stage) {
  std::vector<MemoryAction> divided;
  for (const MemoryAction& action : stage.memory) {
    const auto* segment = std::get_if<Recompute>(&action);
    if (segment == nullptr) {
      if (!std::get<Swap>(action).layers.empty()) divided.push_back(action);
      continue;
    }
    auto at = stage.layers.begin();
    for (LayerId layer : segment->layers) {
      const bool goes_on = at != stage.layers.begin() && at != stage.layers.end() && *at == layer;
      if (!goes_on) divided.emplace_back(Recompute{{}, segment->covered, segment->swaps_checkpoint});
      std::get<Recompute>(divided.back()).layers.push_back(layer);
      at = std::next(std::ranges::find(stage.layers, layer));
    }
  }
  stage.memory = std::move(divided);
}

}  // namespace

IndexVector<LayerId, LayerId> layers_before(const LayerGraph& before, const LayerGraph& after) {
  std::unordered_map<std::string, LayerId> by_name;
  for (LayerId id : indices(before.layers)) by_name.emplace(before.layers[id].name, id);
  IndexVector<LayerId, LayerId> known(after.layers.size(), LayerId::none());
  for (LayerId id : indices(after.layers)) {
    const auto found = by_name.find(after.layers[id].name);
    if (found != by_name.end()) known[id] = found->second;
  }
  return known;
}

Plan carried_over(const Plan& plan, const LayerGraph& before, const LayerGraph& after) {
  const IndexVector<LayerId, LayerId> known = layers_before(before, after);
  Plan carried = plan;
  carried.model = after.name;
  carried.microbatch_size = after.microbatch_size;
  carried.pattern.reset();
  std::uint32_t pipelines = 0;
  for (const Stage& stage : plan.stages) pipelines = std::max(pipelines, stage.pipeline + 1);
  for (std::uint32_t pipeline = 0; pipeline < pipelines; ++pipeline) {
    CarriedPipeline filled(plan, pipeline, before);
    filled.fill(after, known);
    auto next = filled.stages().begin();
    for (Stage& stage : carried.stages) {
      if (stage.pipeline == pipeline) stage = *next++;
    }
  }
  for (std::size_t s = 0; s < carried.stages.size(); ++s) {
    Stage& stage = carried.stages[s];
    if (stage.layers.empty()) {
      throw InputError("stage " + std::to_string(s) + " of the plan has none of the layers of model " +
                           quote(after.name) + ", which follows model " + quote(before.name),
                       {}, "layers keep their stages by their names");
    }
    if (least_samples(stage) > after.microbatch_size) {
      throw InputError("stage " + std::to_string(s) + " of the plan divides microbatches over " +
                       std::to_string(stage.replicas.size()) + " devices, but the microbatches that follow have " +
                       counted(after.microbatch_size, "sample"));
    }
    divide_segments(stage);
  }
  return carried;
}

}  // namespace stagecraft
