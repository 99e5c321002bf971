#include "planners/shared/savings/layer_likeness.hpp"

#include <bit>
#include <cstddef>
#include <map>

namespace stagecraft {
namespace {

using Description = std::vector<std::int64_t>;

/// Where a tensor was seen last: at which position of the order, and as which tensor of that layer.
struct Sight {
  std::int64_t at = -1;
  std::int64_t slot = 0;
};

class Descriptions {
 public:
  explicit Descriptions(const LayerGraph& graph) : graph_(graph), seen_(graph.tensors.size()) {
    made_.resize(graph.layers.size());
    for (std::uint32_t tensor = 0; tensor < graph.tensors.size(); ++tensor) {
      const LayerId from = graph.tensors[tensor].from;
      if (!from.is_none()) made_[from.value()].push_back(tensor);
    }
  }

  /// Of the layer behind those described so far.
  Description next(LayerId id) {
    const Layer& layer = graph_.layers[id];
    Description result{bits(layer.forward), bits(layer.backward), layer.stash.value(), layer.checkpoint.value(),
                       layer.workspace.value()};
    slot_ = 0;
    see(layer.keeps, result);
    see(layer.reads, result);
    see(made_[id.value()], result);
    ++at_;
    return result;
  }

 private:
  static std::int64_t bits(Seconds time) { return std::bit_cast<std::int64_t>(time.value()); }

  void see(const std::vector<std::uint32_t>& tensors, Description& result) {
    result.push_back(static_cast<std::int64_t>(tensors.size()));
    for (const std::uint32_t tensor : tensors) {
      Sight& sight = seen_[tensor];
      const std::int64_t distance = sight.at < 0 ? -1 : at_ - sight.at;
      result.insert(result.end(), {graph_.tensors[tensor].bytes.value(), distance, sight.slot});
      sight = {at_, slot_++};
    }
  }

  const LayerGraph& graph_;
  std::vector<std::vector<std::uint32_t>> made_;  // by layer
  std::vector<Sight> seen_;                       // by tensor
  std::int64_t at_ = 0;
  std::int64_t slot_ = 0;
};

}  // namespace

std::vector<std::uint32_t> layer_likeness(const LayerGraph& graph, const std::vector<LayerId>& order) {
  Descriptions descriptions(graph);
  std::map<Description, std::uint32_t> numbers;
  std::vector<std::uint32_t> likeness;
  for (const LayerId layer : order) {
    const auto next = static_cast<std::uint32_t>(numbers.size());
    likeness.push_back(numbers.try_emplace(descriptions.next(layer), next).first->second);
  }
  return likeness;
}

}  // namespace stagecraft
