#include "sim/schedule/stage_program.hpp"

#include "sim/model/plan.hpp"
#include "sim/model/run_sums.hpp"
#include "sim/schedule/gather_units.hpp"

#include <algorithm>
#include <cstdint>
#include <map>
#include <set>
#include <utility>

namespace stagecraft {
namespace {

constexpr std::size_t kNone = static_cast<std::size_t>(-1);

/// For each layer of a stage that has one, its recompute segment or its swap.
struct ActionsOf {
  std::map<LayerId, std::size_t> segment;
  std::map<LayerId, std::size_t> swap;
};

ActionsOf actions_by_layer(const std::vector<Recompute>& segments, const std::vector<Swap>& swaps) {
  ActionsOf actions;
  for (std::size_t i = 0; i < segments.size(); ++i) {
    for (LayerId layer : segments[i].layers) actions.segment[layer] = i;
  }
  for (std::size_t i = 0; i < swaps.size(); ++i) {
    for (LayerId layer : swaps[i].layers) actions.swap[layer] = i;
  }
  return actions;
}

std::size_t find_or_none(const std::map<LayerId, std::size_t>& actions, LayerId layer) {
  const auto found = actions.find(layer);
  return found == actions.end() ? kNone : found->second;
}

/// What each layer of a stage adds to its stash, in the order of the backward, and what its backward is the last to
/// use. A tensor that a layer without an action keeps, or that a recompute segment reads from outside, is kept whatever
/// else happens to it. If only segments whose checkpoint is swapped read it, it belongs to the first of them; any other
/// one to the first of its keepers.
class StashParts {
 public:
  StashParts(const LayerGraph& graph, const Stage& stage, const std::vector<Recompute>& segments,
             const ActionsOf& actions)
      : graph_(graph), actions_(actions), tensors_(graph.tensors.size()), swapped_checkpoints_(segments.size()) {
    if (graph.tensors.empty()) return;
    const auto swaps_checkpoint = [&](LayerId id) { return segments[segment_of(id)].swaps_checkpoint; };
    for (const LayerId id : stage.layers) {
      const bool is_kept = segment_of(id) == kNone && find_or_none(actions.swap, id) == kNone;
      for (const std::uint32_t tensor : uses_of(id)) ++tensors_[tensor].uses;
      for (const std::uint32_t tensor : graph.layers[id].keeps) {
        if (is_kept) kept_ += count(tensor, Place::Stash);
      }
      for (const std::uint32_t tensor : graph.layers[id].reads) {
        if (is_read_from_outside(id, tensor) && !swaps_checkpoint(id)) kept_ += count(tensor, Place::Stash);
      }
    }
    for (std::size_t i = stage.layers.size(); i-- > 0;) {
      const LayerId id = stage.layers[i];
      for (const std::uint32_t tensor : graph.layers[id].reads) {
        if (is_read_from_outside(id, tensor)) swapped_checkpoints_[segment_of(id)] += count(tensor, Place::Stash);
      }
    }
  }

  /// The tensors that are kept whatever happens to the others.
  [[nodiscard]] Bytes kept() const { return kept_; }

  /// The tensors that belong to the swapped checkpoint of a segment.
  [[nodiscard]] Bytes swapped_checkpoint(std::size_t segment) const { return swapped_checkpoints_[segment]; }

  /// The layer's own stash, and the tensors that it keeps and that have not been counted yet.
  [[nodiscard]] Bytes take(LayerId id) {
    const Place place = segment_of(id) == kNone ? Place::Stash : Place::Restored;
    Bytes bytes = own(id);
    for (const std::uint32_t tensor : graph_.layers[id].keeps) bytes += count(tensor, place);
    return bytes;
  }

  /// What of the stash the backward of the layer is the last to use: its own, unless that is made again, and tensors.
  /// **Requires** that the layers behind it have been given, and that it has been taken.
  [[nodiscard]] Bytes release(LayerId id) {
    Bytes bytes = segment_of(id) == kNone ? own(id) : Bytes(0);
    for (const std::uint32_t tensor : uses_of(id)) {
      Tensor& used = tensors_[tensor];
      if (--used.uses == 0 && used.place == Place::Stash) bytes += graph_.tensors[tensor].bytes;
    }
    return bytes;
  }

  /// The layer's checkpoint without the tensors that it reads.
  [[nodiscard]] Bytes checkpoint(LayerId id) const {
    Bytes bytes = graph_.layers[id].checkpoint;
    for (const std::uint32_t tensor : graph_.layers[id].reads) bytes -= graph_.tensors[tensor].bytes;
    return std::max(bytes, Bytes(0));
  }

 private:
  enum class Place : std::uint8_t { Nowhere, Stash, Restored };
  struct Tensor {
    Place place = Place::Nowhere;  ///< where it counts
    std::uint32_t uses = 0;        ///< by backwards that have not been given
  };

  [[nodiscard]] std::size_t segment_of(LayerId id) const { return find_or_none(actions_.segment, id); }

  [[nodiscard]] bool is_read_from_outside(LayerId id, std::uint32_t tensor) const {
    const LayerId from = graph_.tensors[tensor].from;
    return segment_of(id) != kNone && (from.is_none() || segment_of(from) != segment_of(id));
  }

  /// The tensors that the layer's backward, or the forward that is run again for it, uses.
  [[nodiscard]] std::vector<std::uint32_t> uses_of(LayerId id) const {
    const Layer& layer = graph_.layers[id];
    std::vector<std::uint32_t> uses = layer.keeps;
    for (const std::uint32_t tensor : layer.reads) {
      if (is_read_from_outside(id, tensor) && std::ranges::find(layer.keeps, tensor) == layer.keeps.end()) {
        uses.push_back(tensor);
      }
    }
    return uses;
  }

  /// The layer's stash without tensors.
  [[nodiscard]] Bytes own(LayerId id) const {
    Bytes bytes = graph_.layers[id].stash;
    for (const std::uint32_t tensor : graph_.layers[id].keeps) bytes -= graph_.tensors[tensor].bytes;
    return bytes;
  }

  /// The bytes of a tensor when it is met first.
  Bytes count(std::uint32_t tensor, Place place) {
    if (tensors_[tensor].place != Place::Nowhere) return Bytes(0);
    tensors_[tensor].place = place;
    return graph_.tensors[tensor].bytes;
  }

  const LayerGraph& graph_;
  const ActionsOf& actions_;
  std::vector<Tensor> tensors_;
  std::vector<Bytes> swapped_checkpoints_;
  Bytes kept_;
};

void add_exchanges(const std::vector<Exchange>& of_layer, std::vector<Exchange>& exchanges) {
  for (const Exchange& exchange : of_layer) add_exchange(exchanges, exchange);
}

/// Builds the backward from the last layer to the first. It runs in pieces, which end where a recompute segment begins
/// or ends, and where a swapped stash is needed for the first time (only the layers from there on wait for its copy);
/// the end of a piece frees what no later one needs. A piece is one step, or several, which also end where a bucket of
/// gradients is complete.
class BackwardWalk {
 public:
  BackwardWalk(const LayerGraph& graph, const Stage& stage, const StageBuckets& buckets, StageProgram& program)
      : program_(program),
        buckets_(buckets.gradients),
        weights_(buckets.weights),
        segments_(actions_of<Recompute>(stage)),
        swaps_(actions_of<Swap>(stage)),
        actions_(actions_by_layer(segments_, swaps_)),
        stash_(graph, stage, segments_, actions_),
        item_of_(swaps_.size(), kNone),
        weights_bucket_(weights_.empty() ? 0 : weights_.size() - 1) {
    program_.kept = stash_.kept();
  }

  void take(LayerId id, const Layer& layer) {
    const std::size_t segment = find_or_none(actions_.segment, id);
    const std::size_t swap = find_or_none(actions_.swap, id);
    const bool is_needed_first = swap != kNone && item_of_[swap] == kNone;
    const bool is_new_piece = program_.backward.empty() || is_needed_first || segment != open_segment_;
    if (is_new_piece && !program_.backward.empty()) close_piece();
    const bool is_new_step = is_new_piece || program_.backward.back().completes > 0 || begins_bucket_;
    if (is_new_step) program_.backward.emplace_back().weights = weights_bucket_;
    if (is_new_piece) open_piece(segment);
    BackwardStep& step = program_.backward.back();
    step.backward += layer.backward;
    add_exchanges(layer.backward_exchanges, at_step(program_.backward.size() - 1).backward);
    step.weight += layer.backward_weight;
    step.workspace = std::max(step.workspace, layer.workspace);
    if (is_needed_first) {
      step.needs = item_of_[swap] = add_part(swaps_[swap].prefetch);
    }
    if (segment != kNone) {
      restore(id, layer);
    } else {
      (swap == kNone ? program_.kept : program_.swapped[item_of_[swap]].bytes) += stash_.take(id);
    }
    used_up_ += stash_.release(id);
    for (; next_bucket_ < buckets_.size() && buckets_[next_bucket_].completed_by == id; ++next_bucket_)
      ++step.completes;
    begins_bucket_ = weights_bucket_ > 0 && weights_[weights_bucket_].needed_by == id;
    if (begins_bucket_) --weights_bucket_;
  }

  void end() { close_piece(); }

 private:
  /// Opens a piece, that of `segment` if there is one, at the last step.
  void open_piece(std::size_t segment) {
    open_segment_ = segment;
    piece_begin_ = program_.backward.size() - 1;
    if (segment == kNone) return;
    program_.backward.back().recomputes = true;
    if (segments_[segment].swaps_checkpoint) program_.backward.back().needs = add_part(true);
  }

  StepExchanges& at_step(std::size_t step) {
    if (!program_.exchanges) return none_;
    program_.exchanges->steps.resize(program_.backward.size());
    return program_.exchanges->steps[step];
  }

  /// Another part of the stash that is swapped; its position.
  std::size_t add_part(bool prefetch) {
    program_.swapped.push_back({Bytes(0), prefetch});
    return program_.swapped.size() - 1;
  }

  void close_piece() {
    if (open_segment_ != kNone) {
      BackwardStep& first = program_.backward[piece_begin_];
      checkpoint_ = std::min(checkpoint_, first.restored);
      first.restored -= checkpoint_;
      (first.needs ? program_.swapped[*first.needs].bytes : program_.kept) += checkpoint_;
      if (first.needs) program_.swapped[*first.needs].bytes += stash_.swapped_checkpoint(open_segment_);
      used_up_ += checkpoint_;
      program_.backward.back().released = first.restored;
    }
    program_.backward.back().freed = std::exchange(used_up_, Bytes(0));
  }

  /// The first step of a segment recomputes all of it. The segment's first layer keeps its checkpoint, which need not
  /// be recomputed. The walk meets that layer last, so the checkpoint noted last counts when the segment is closed.
  void restore(LayerId id, const Layer& layer) {
    BackwardStep& first = program_.backward[piece_begin_];
    first.recompute += layer.forward;
    first.weights = weights_bucket_;
    add_exchanges(layer.forward_exchanges, at_step(piece_begin_).recompute);
    first.restored += stash_.take(id);
    first.workspace = std::max(first.workspace, layer.workspace);
    checkpoint_ = stash_.checkpoint(id);
  }

  StageProgram& program_;
  const std::vector<GradientBucket>& buckets_;
  const std::vector<WeightBucket>& weights_;
  std::vector<Recompute> segments_;
  std::vector<Swap> swaps_;
  ActionsOf actions_;
  StashParts stash_;
  StepExchanges none_;                ///< of a device alone
  std::vector<std::size_t> item_of_;  ///< by swap: its position in `StageProgram::swapped`
  std::size_t weights_bucket_;        ///< of weights, that the next layer has
  bool begins_bucket_ = false;        ///< the next layer is the last one of it
  std::size_t next_bucket_ = 0;
  std::size_t open_segment_ = kNone;  ///< the segment of the layer that was taken last
  std::size_t piece_begin_ = 0;       ///< the first step of the open piece
  Bytes used_up_;                     ///< what its end frees
  Bytes checkpoint_;                  ///< of the earliest layer of the open segment so far
};

/// Of a tensor that is not divided by tokens each member of a group sends its part to its counterpart in another one,
/// whose members then gather the whole: for a forward what enters the stage, for a backward the gradients of what
/// leaves it.
void add_gathers(const LayerGraph& graph, const Stage& stage, StageProgram& program) {
  if (graph.degrees.sent_parts() == 1) return;
  const std::set<LayerId> own(stage.layers.begin(), stage.layers.end());
  for (const LayerEdge& edge : graph.edges) {
    if (own.contains(edge.from) == own.contains(edge.to)) continue;
    auto& exchanges = own.contains(edge.to) ? program.exchanges->forward : program.exchanges->steps.front().backward;
    add_exchange(exchanges, {.kind = Exchange::Kind::AllGather, .bytes = edge.bytes});
  }
}

}  // namespace

Seconds StageProgram::backward_total() const {
  Seconds sum;
  for (const BackwardStep& step : backward) sum += step.recompute + step.backward;
  return sum;
}

Seconds StageProgram::weight_total() const {
  Seconds sum;
  for (const BackwardStep& step : backward) sum += step.weight;
  return sum;
}

Bytes StageProgram::stash() const {
  Bytes sum = kept;
  for (const SwappedStash& part : swapped) sum += part.bytes;
  return sum;
}

Bytes StageProgram::backward_workspace() const {
  Bytes largest;
  Bytes held;
  for (const BackwardStep& step : backward) {
    held += step.restored;
    largest = std::max(largest, held + step.workspace);
    held -= step.released + step.freed;
  }
  return largest;
}

StageProgram stage_program(const LayerGraph& graph, const Stage& stage, const StageBuckets& buckets) {
  StageProgram program;
  if (graph.degrees.devices() > 1) program.exchanges.emplace();
  BackwardWalk walk(graph, stage, buckets, program);
  for (std::size_t at = stage.layers.size(); at-- > 0;) {
    const LayerId id = stage.layers[at];
    const Layer& layer = graph.layers[id];
    program.forward += layer.forward;
    if (program.exchanges) add_exchanges(layer.forward_exchanges, program.exchanges->forward);
    program.workspace = std::max(program.workspace, layer.workspace);
    walk.take(id, layer);
  }
  walk.end();
  program.forward_parts = forward_parts(graph, stage, buckets.weights);
  program.parameters = parameters_of(graph, stage.layers);
  for (const LayerId id : stage.layers) program.experts += graph.layers[id].experts;
  if (program.exchanges) add_gathers(graph, stage, program);
  return program;
}

}  // namespace stagecraft
