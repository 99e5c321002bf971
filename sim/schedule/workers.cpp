#include "sim/schedule/workers.hpp"

#include "sim/base/error.hpp"

#include <algorithm>
#include <map>

namespace stagecraft {
namespace {

constexpr std::size_t kKept = static_cast<std::size_t>(-1);

/// For each layer of the stage, the recompute segment it is in.
std::map<LayerId, std::size_t> segments_of(const Stage& stage) {
  std::map<LayerId, std::size_t> segment;
  for (std::size_t i = 0; i < stage.recompute.size(); ++i) {
    for (LayerId layer : stage.recompute[i]) segment[layer] = i;
  }
  return segment;
}

void add_to(BackwardPiece& piece, const Layer& layer) {
  piece.backward += layer.backward;
  piece.backward_weight += layer.backward_weight;
  piece.workspace = std::max(piece.workspace, layer.workspace);
  if (!piece.recomputes) return;
  piece.recompute += layer.forward;
  piece.rematerialised += layer.stash;
}

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
    for (const auto& [layer, bytes] : produced) boundary.bytes += bytes;
    result.push_back(boundary);
  }
  return result;
}

Seconds StageWork::backward_total() const {
  Seconds sum;
  for (const BackwardPiece& piece : backward) sum += piece.recompute + piece.backward;
  return sum;
}

StageWork stage_work(const LayerGraph& graph, const Stage& stage) {
  StageWork work;
  const std::map<LayerId, std::size_t> segment_of = segments_of(stage);
  std::size_t open = kKept;  // the segment of the layer before, in backward order
  for (auto at = stage.layers.rbegin(); at != stage.layers.rend(); ++at) {
    const Layer& layer = graph.layers[*at];
    work.forward += layer.forward;
    work.parameters += layer.parameters;
    work.workspace = std::max(work.workspace, layer.workspace);
    const auto found = segment_of.find(*at);
    const std::size_t segment = found == segment_of.end() ? kKept : found->second;
    if (work.backward.empty() || segment != open) work.backward.push_back({});
    open = segment;
    work.backward.back().recomputes = segment != kKept;
    add_to(work.backward.back(), layer);
    if (segment == kKept) {
      const bool swapped = std::ranges::find(stage.swap, *at) != stage.swap.end();
      (swapped ? work.swapped : work.stash) += layer.stash;
    }
  }
  // What a segment's first layer keeps need not be made again.
  std::size_t piece = work.backward.size();
  std::size_t last = kKept;
  for (std::size_t i = 0; i < stage.layers.size(); ++i) {
    const auto found = segment_of.find(stage.layers[i]);
    const std::size_t segment = found == segment_of.end() ? kKept : found->second;
    if (i == 0 || segment != last) {
      --piece;
      if (segment != kKept) {
        work.backward[piece].rematerialised -= graph.layers[stage.layers[i]].checkpoint;
        work.stash += graph.layers[stage.layers[i]].checkpoint;
      }
    }
    last = segment;
  }
  return work;
}

Seconds update_time(const DeviceKind& kind, const Training& training, Bytes parameters) {
  if (!kind.update_bandwidth) return Seconds(0);
  return parameters * (1 + training.gradient_copies + training.optimizer_copies) / *kind.update_bandwidth;
}

Share replica_share(const Stage& stage, std::size_t replica) {
  if (stage.replication == Replication::RoundRobin) return {};
  const auto at = static_cast<std::int64_t>(replica);
  return {at, at + 1, static_cast<std::int64_t>(stage.devices.size())};
}

Share flow_share(const Share& from, const Share& to) {
  Share overlap;
  overlap.of = from.of * to.of;
  overlap.begin = std::max(from.begin * to.of, to.begin * from.of);
  overlap.end = std::max(overlap.begin, std::min(from.end * to.of, to.end * from.of));
  return overlap;
}

}  // namespace stagecraft
