#include "planners/dawnpiper/cut_waits.hpp"

#include <algorithm>
#include <cmath>

namespace stagecraft {
namespace {

/// A layer that uses a tensor.
struct Use {
  std::size_t position = 0;
  Bytes bytes;
};

/// By position of the layer that makes the tensor, in order of the positions of its users.
std::vector<std::vector<Use>> uses_of(const LayerGraph& graph, const std::vector<LayerId>& order) {
  std::vector<std::size_t> position(order.size());
  for (std::size_t at = 0; at < order.size(); ++at) position[order[at].value()] = at;
  std::vector<std::vector<Use>> uses(order.size());
  for (const LayerEdge& edge : graph.edges) {
    uses[position[edge.from.value()]].push_back({position[edge.to.value()], edge.bytes});
  }
  for (std::vector<Use>& of_one : uses) std::ranges::sort(of_one, {}, &Use::position);
  return uses;
}

}  // namespace

std::vector<Bytes> waited_bytes(const LayerGraph& graph, const std::vector<LayerId>& order, std::size_t stages) {
  std::vector<double> compute(order.size() + 1);
  for (std::size_t at = 0; at < order.size(); ++at) {
    const Layer& layer = graph.layers[order[at]];
    compute[at + 1] = compute[at] + (layer.forward + layer.backward).value();
  }
  const double of_stage = compute.back() / static_cast<double>(stages);
  const std::vector<std::vector<Use>> uses = uses_of(graph, order);
  std::vector<double> change(order.size() + 2);  // from each cut to the next
  for (std::size_t from = 0; from < order.size(); ++from) {
    Bytes largest{0};
    for (const Use& use : uses[from]) largest = std::max(largest, use.bytes);
    std::size_t begin = from + 1;
    for (const Use& use : uses[from]) {
      if (use.position < begin) continue;
      const double between = compute[use.position] - compute[from + 1];
      const double cuts = of_stage > 0.0 ? std::max(1.0, between / of_stage) : 1.0;
      const double part = static_cast<double>(largest.value()) / cuts;
      change[begin] += part;
      change[use.position + 1] -= part;
      begin = use.position + 1;
    }
  }
  std::vector<Bytes> waited;
  double sum = 0.0;
  for (std::size_t cut = 0; cut <= order.size(); ++cut) {
    sum += change[cut];
    waited.emplace_back(std::llround(std::max(0.0, sum)));
  }
  return waited;
}

}  // namespace stagecraft
