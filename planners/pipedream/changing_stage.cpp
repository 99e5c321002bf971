#include "planners/pipedream/changing_stage.hpp"

#include "planners/pipedream/recurrence.hpp"

#include <algorithm>
#include <bit>
#include <functional>
#include <numeric>
#include <utility>

namespace stagecraft::pipedream {

// The stages that a table of all (K, J] asks for one after the other differ in few layers. So the stage is kept as a
// set of bits, and `become` flips those in which the next one differs. A flip changes the sums by what that one layer
// contributes.
//
// **Invariant**: after each flip all sums are those of the set `inside_`, whether it is a stage or only on the way to
// one. They depend on the set alone, so the order of flips does not matter, and bytes are integers, so nothing drifts.
// To keep it so, a flip takes off what the layer's tensors contribute, changes the set and the uses, and adds what they
// contribute then. Only the layer's own tensor and those that it uses can be exchanged in another way, so these are
// looked at again.
//
// A largest workspace cannot be taken off again. So layers are ranked by it, and the largest of the set is that of its
// first rank.

namespace {

void flip_in(std::vector<std::uint64_t>& set, std::size_t bit) { set[bit / 64] ^= std::uint64_t{1} << (bit % 64); }

/// **Requires** a set that is not empty.
std::size_t first_of(const std::vector<std::uint64_t>& set) {
  std::size_t word = 0;
  while (set[word] == 0) ++word;
  return 64 * word + static_cast<std::size_t>(std::countr_zero(set[word]));
}

/// By bit, the tensors that the layer makes, reads or keeps.
std::vector<std::vector<std::uint32_t>> tensors_of(const LayerGraph& graph, const std::vector<LayerId>& order) {
  IndexVector<LayerId, std::vector<std::uint32_t>> made(graph.layers.size());
  for (std::uint32_t tensor = 0; tensor < graph.tensors.size(); ++tensor) {
    if (const LayerId from = graph.tensors[tensor].from; !from.is_none()) made[from].push_back(tensor);
  }
  std::vector<std::vector<std::uint32_t>> result;
  for (const LayerId id : order) {
    std::vector<std::uint32_t>& own = result.emplace_back(std::move(made[id]));
    const Layer& layer = graph.layers[id];
    own.insert(own.end(), layer.reads.begin(), layer.reads.end());
    own.insert(own.end(), layer.keeps.begin(), layer.keeps.end());
    std::ranges::sort(own);
    const auto doubles = std::ranges::unique(own);
    own.erase(doubles.begin(), doubles.end());
  }
  return result;
}

}  // namespace

ChangingStage::ChangingStage(const LayerGraph& graph, const DownSets& states, bool recomputes, Consumers consumers)
    : graph_(&graph),
      states_(&states),
      recomputes_(recomputes),
      consumers_(consumers),
      uses_(states.order.size()),
      producers_(states.order.size()),
      tensors_(tensors_of(graph, states.order)),
      tied_(states.order.size()),
      rank_(states.order.size()),
      inside_(states.words),
      ranks_inside_(states.words),
      exchanged_by_(states.order.size()),
      tensor_uses_(graph.tensors.size()),
      tied_here_(graph.tied.size()) {
  IndexVector<LayerId, std::size_t> position(graph.layers.size());
  for (std::size_t bit = 0; bit < states.order.size(); ++bit) position[states.order[bit]] = bit;
  for (const LayerEdge& edge : graph.edges) {
    uses_[position[edge.from]].push_back({position[edge.to], edge.bytes});
    producers_[position[edge.to]].push_back(position[edge.from]);
  }
  for (std::uint32_t group = 0; group < graph.tied.size(); ++group) {
    for (const LayerId id : graph.tied[group].layers) tied_[position[id]].push_back(group);
  }
  std::vector<std::size_t> by_workspace(states.order.size());
  std::iota(by_workspace.begin(), by_workspace.end(), std::size_t{0});
  std::ranges::sort(by_workspace, std::greater(), [this](std::size_t bit) { return layer(bit).workspace; });
  for (const std::size_t bit : by_workspace) {
    rank_[bit] = workspace_.size();
    workspace_.push_back(layer(bit).workspace);
  }
}

void ChangingStage::become(std::size_t start, std::size_t end) {
  for (std::size_t w = 0; w < states_->words; ++w) {
    const std::uint64_t* members = &states_->members[w * states_->stride];
    const std::uint64_t wanted = members[end] & (start == kNothing ? ~std::uint64_t{0} : ~members[start]);
    for (std::uint64_t changed = wanted ^ inside_[w]; changed != 0; changed &= changed - 1) {
      flip(64 * w + static_cast<std::size_t>(std::countr_zero(changed)));
    }
  }
}

void ChangingStage::flip(std::size_t bit) {
  add_tensors(bit, -1);
  flip_in(inside_, bit);
  flip_in(ranks_inside_, rank_[bit]);
  const int sign = is_inside(bit) ? 1 : -1;
  stash_ += layer(bit).stash * sign;
  for (const std::uint32_t tensor : layer(bit).keeps) tensor_uses_[tensor].keepers += sign;
  for (const std::uint32_t tensor : layer(bit).reads) tensor_uses_[tensor].readers += sign;
  for (const std::uint32_t tensor : tensors_[bit]) {
    if (graph_->tensors[tensor].from == states_->order[bit]) tensor_uses_[tensor].is_made_here = sign > 0;
  }
  add_tensors(bit, 1);
  add_parameters(bit, sign);
  exchange_again(bit);
  for (const std::size_t producer : producers_[bit]) exchange_again(producer);
}

/// Adds or takes away what the layer's tensors change in the sums. The layers' stashes have a tensor as often as it is
/// kept. A tensor that a recompute segment reads from outside is held whatever happens to the stash.
void ChangingStage::add_tensors(std::size_t bit, int sign) {
  for (const std::uint32_t tensor : tensors_[bit]) {
    const TensorUse& use = tensor_uses_[tensor];
    const Bytes bytes = graph_->tensors[tensor].bytes * sign;
    const bool is_held = recomputes_ && use.readers > 0 && !use.is_made_here;
    if (is_held) held_ += bytes;
    stash_ -= bytes * (use.keepers - (use.keepers > 0 && !is_held ? 1 : 0));
  }
}

void ChangingStage::add_parameters(std::size_t bit, int sign) {
  parameters_ += layer(bit).parameters * sign;
  for (const std::uint32_t group : tied_[bit]) {
    std::int64_t& here = tied_here_[group];
    const std::int64_t repeated = std::max<std::int64_t>(here - 1, 0);
    here += sign;
    parameters_ -= graph_->tied[group].bytes * (std::max<std::int64_t>(here - 1, 0) - repeated);
  }
}

/// What the tensor of `producer` adds to what is exchanged. If it is inside, its tensor leaves for the consumers that
/// are not; otherwise it enters for those that are, which come before J, as it does.
void ChangingStage::exchange_again(std::size_t producer) {
  const bool leaves = is_inside(producer);
  Bytes sum;
  Bytes largest;
  for (const Use& use : uses_[producer]) {
    if (is_inside(use.bit) == leaves) continue;
    sum += use.bytes;
    largest = std::max(largest, use.bytes);
  }
  const Bytes bytes = leaves && consumers_ == Consumers::Every ? sum : largest;
  exchanged_ += bytes - std::exchange(exchanged_by_[producer], bytes);
}

StageProgram ChangingStage::work() const {
  StageProgram work;
  work.workspace = workspace_[first_of(ranks_inside_)];
  work.parameters = parameters_;
  work.kept = stash_;
  if (!recomputes_) return work;
  const Layer& first = layer(first_of(inside_));
  Bytes checkpoint = first.checkpoint;
  for (const std::uint32_t tensor : first.reads) checkpoint -= graph_->tensors[tensor].bytes;
  checkpoint = std::min(std::max(checkpoint, Bytes(0)), stash_);
  work.kept = held_ + checkpoint;
  BackwardStep& step = work.backward.emplace_back();
  step.recomputes = true;
  step.restored = step.released = stash_ - checkpoint;
  step.freed = work.kept;
  step.workspace = work.workspace;
  return work;
}

}  // namespace stagecraft::pipedream
