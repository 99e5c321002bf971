#include "sim/schedule/boundaries.hpp"

#include "sim/model/graph_order.hpp"
#include "sim/model/plan.hpp"

#include <algorithm>
#include <map>

namespace stagecraft {
namespace {

/// A tensor that every member has whole is sent in parts, one by each.
Bytes of_member(const LayerGraph& graph, Bytes bytes) { return share_up(bytes, 1, graph.degrees.sent_parts()); }

}  // namespace

std::vector<Boundary> boundaries(const LayerGraph& graph, const Plan& plan) {
  const std::uint32_t none = StageId::none().value();
  std::uint32_t pipelines = 0;
  for (const Stage& stage : plan.stages) pipelines = std::max(pipelines, stage.pipeline + 1);
  std::vector<IndexVector<LayerId, std::uint32_t>> stage_of(
      pipelines, IndexVector<LayerId, std::uint32_t>(graph.layers.size(), none));
  for (std::size_t s = 0; s < plan.stages.size(); ++s) {
    for (LayerId layer : plan.stages[s].layers) {
      stage_of[plan.stages[s].pipeline][layer] = static_cast<std::uint32_t>(s);
    }
  }
  // By (producing stage, consuming stage, producing layer): the largest edge is the tensor's size there.
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::map<LayerId, Bytes>> tensors;
  for (const auto& stages : stage_of) {
    for (const LayerEdge& edge : graph.edges) {
      const std::uint32_t from = stages[edge.from];
      const std::uint32_t to = stages[edge.to];
      if (from == to || from == none || to == none) continue;
      Bytes& bytes = tensors[{from, to}][edge.from];
      bytes = std::max(bytes, edge.bytes);
    }
  }
  std::vector<Boundary> result;
  for (const auto& [ends, produced] : tensors) {
    Boundary boundary{StageId(ends.first), StageId(ends.second), Bytes(0)};
    for (const auto& [layer, bytes] : produced) boundary.bytes += of_member(graph, bytes);
    result.push_back(boundary);
  }
  return result;
}

std::vector<Boundary> chain_boundaries(const LayerGraph& graph, const Plan& plan) {
  std::uint32_t pipelines = 0;
  for (const Stage& stage : plan.stages) pipelines = std::max(pipelines, stage.pipeline + 1);
  std::vector<Boundary> result;
  for (std::uint32_t pipeline = 0; pipeline < pipelines; ++pipeline) {
    std::vector<LayerId> order;
    std::vector<std::pair<StageId, std::size_t>> ends;  // of each stage of the pipeline
    for (StageId id : indices<StageId>(plan.stages.size())) {
      const Stage& stage = plan.stages[id.value()];
      if (stage.pipeline != pipeline) continue;
      order.insert(order.end(), stage.layers.begin(), stage.layers.end());
      ends.emplace_back(id, order.size());
    }
    const std::vector<Bytes> cuts = cut_bytes(graph, order);
    for (std::size_t i = 0; i + 1 < ends.size(); ++i) {
      result.push_back({ends[i].first, ends[i + 1].first, of_member(graph, cuts[ends[i].second - 1])});
    }
  }
  return result;
}

}  // namespace stagecraft
