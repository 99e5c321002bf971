#include "sim/schedule/stage_program.hpp"

#include "sim/model/plan.hpp"
#include "sim/model/run_sums.hpp"

#include <algorithm>
#include <cstdint>
#include <map>
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

/// What each layer of a stage adds to its stash, in the order of the backward. A tensor that a layer without an action
/// keeps, or that a recompute segment reads from outside, is kept whatever else happens to it. Any other one belongs to
/// the first of its keepers.
class StashParts {
 public:
  StashParts(const LayerGraph& graph, const Stage& stage, const ActionsOf& actions) : graph_(graph) {
    if (graph.tensors.empty()) return;
    counted_.resize(graph.tensors.size());
    for (const LayerId id : stage.layers) {
      const Layer& layer = graph.layers[id];
      const std::size_t segment = find_or_none(actions.segment, id);
      if (segment != kNone) {
        for (const std::uint32_t tensor : layer.reads) {
          const LayerId from = graph.tensors[tensor].from;
          if (from.is_none() || find_or_none(actions.segment, from) != segment) kept_ += count(tensor);
        }
      } else if (find_or_none(actions.swap, id) == kNone) {
        for (const std::uint32_t tensor : layer.keeps) kept_ += count(tensor);
      }
    }
  }

  /// The tensors that are kept whatever happens to the others.
  [[nodiscard]] Bytes kept() const { return kept_; }

  /// The layer's own stash, and the tensors that it keeps and that have not been counted yet.
  [[nodiscard]] Bytes take(LayerId id) {
    const Layer& layer = graph_.layers[id];
    Bytes bytes = layer.stash;
    for (const std::uint32_t tensor : layer.keeps) bytes += count(tensor) - graph_.tensors[tensor].bytes;
    return bytes;
  }

  /// The layer's checkpoint without the tensors that it reads.
  [[nodiscard]] Bytes checkpoint(LayerId id) const {
    Bytes bytes = graph_.layers[id].checkpoint;
    for (const std::uint32_t tensor : graph_.layers[id].reads) bytes -= graph_.tensors[tensor].bytes;
    return std::max(bytes, Bytes(0));
  }

 private:
  /// The bytes of a tensor when it is met first.
  Bytes count(std::uint32_t tensor) {
    return std::exchange(counted_[tensor], 1) == 0 ? graph_.tensors[tensor].bytes : Bytes(0);
  }

  const LayerGraph& graph_;
  std::vector<char> counted_;
  Bytes kept_;
};

/// Builds the backward from the last layer to the first. A step ends where a recompute segment begins or ends, where a
/// swapped stash is needed for the first time (only the layers from there on wait for its copy), and where a bucket of
/// gradients is complete.
class BackwardWalk {
 public:
  BackwardWalk(const LayerGraph& graph, const Stage& stage, const std::vector<GradientBucket>& buckets,
               StageProgram& program)
      : program_(program),
        buckets_(buckets),
        swaps_(actions_of<Swap>(stage)),
        actions_(actions_by_layer(actions_of<Recompute>(stage), swaps_)),
        stash_(graph, stage, actions_),
        item_of_(swaps_.size(), kNone) {
    program_.kept = stash_.kept();
  }

  void take(LayerId id, const Layer& layer) {
    const std::size_t segment = find_or_none(actions_.segment, id);
    const std::size_t swap = find_or_none(actions_.swap, id);
    const bool is_needed_first = swap != kNone && item_of_[swap] == kNone;
    const bool is_new = program_.backward.empty() || program_.backward.back().completes > 0 || is_needed_first;
    if (is_new || segment != open_segment_) program_.backward.emplace_back();
    BackwardStep& step = program_.backward.back();
    step.backward += layer.backward;
    step.weight += layer.backward_weight;
    step.workspace = std::max(step.workspace, layer.workspace);
    if (is_needed_first) {
      step.needs = item_of_[swap] = program_.swapped.size();
      program_.swapped.push_back({Bytes(0), swaps_[swap].prefetch});
    }
    if (segment != open_segment_) open(segment);
    if (segment != kNone) {
      restore(id, layer);
    } else {
      (swap == kNone ? program_.kept : program_.swapped[item_of_[swap]].bytes) += stash_.take(id);
    }
    for (; next_bucket_ < buckets_.size() && buckets_[next_bucket_].completed_by == id; ++next_bucket_)
      ++step.completes;
  }

  void end() { close_segment(); }

 private:
  [[nodiscard]] std::size_t present_step() const { return program_.backward.size() - 1; }

  /// Closes the open segment, and opens `segment` at the present step.
  void open(std::size_t segment) {
    close_segment();
    open_segment_ = segment;
    if (segment == kNone) return;
    segment_begin_ = present_step();
    program_.backward.back().recomputes = true;
  }

  void close_segment() {
    if (open_segment_ == kNone) return;
    BackwardStep& first = program_.backward[segment_begin_];
    checkpoint_ = std::min(checkpoint_, first.restored);
    first.restored -= checkpoint_;
    program_.kept += checkpoint_;
    program_.backward[segment_end_].released = first.restored;
  }

  /// The first step of a segment recomputes all of it. The segment's first layer keeps its checkpoint, which need not
  /// be recomputed. The walk meets that layer last, so the checkpoint noted last counts when the segment is closed.
  void restore(LayerId id, const Layer& layer) {
    BackwardStep& first = program_.backward[segment_begin_];
    first.recompute += layer.forward;
    first.restored += stash_.take(id);
    first.workspace = std::max(first.workspace, layer.workspace);
    checkpoint_ = stash_.checkpoint(id);
    segment_end_ = present_step();
  }

  StageProgram& program_;
  const std::vector<GradientBucket>& buckets_;
  std::vector<Swap> swaps_;
  ActionsOf actions_;
  StashParts stash_;
  std::vector<std::size_t> item_of_;  ///< by swap: its position in `StageProgram::swapped`
  std::size_t next_bucket_ = 0;
  std::size_t open_segment_ = kNone;  ///< the segment of the layer that was taken last
  std::size_t segment_begin_ = 0;     ///< its first step
  std::size_t segment_end_ = 0;       ///< its last step so far
  Bytes checkpoint_;                  ///< of its earliest layer so far
};

}  // namespace

Seconds StageProgram::backward_total() const {
  Seconds sum;
  for (const BackwardStep& step : backward) sum += step.recompute + step.backward;
  return sum;
}

Bytes StageProgram::stash() const {
  Bytes sum = kept;
  for (const SwappedStash& part : swapped) sum += part.bytes;
  return sum;
}

Bytes StageProgram::backward_workspace() const {
  Bytes largest;
  for (const BackwardStep& step : backward) largest = std::max(largest, step.restored + step.workspace);
  return largest;
}

StageProgram stage_program(const LayerGraph& graph, const Stage& stage, const std::vector<GradientBucket>& buckets) {
  StageProgram program;
  BackwardWalk walk(graph, stage, buckets, program);
  for (std::size_t at = stage.layers.size(); at-- > 0;) {
    const LayerId id = stage.layers[at];
    const Layer& layer = graph.layers[id];
    program.forward += layer.forward;
    program.workspace = std::max(program.workspace, layer.workspace);
    walk.take(id, layer);
  }
  walk.end();
  program.parameters = parameters_of(graph, stage.layers);
  return program;
}

StageProgram with_times(StageProgram program, double factor) {
  program.forward = program.forward * factor;
  for (BackwardStep& step : program.backward) {
    step.recompute = step.recompute * factor;
    step.backward = step.backward * factor;
    step.weight = step.weight * factor;
  }
  return program;
}

StageProgram with_bytes_of(StageProgram program, const StageProgram& other) {
  for (std::size_t at = 0; at < program.backward.size(); ++at) {
    BackwardStep& step = program.backward[at];
    step.restored = other.backward[at].restored;
    step.released = other.backward[at].released;
    step.workspace = other.backward[at].workspace;
  }
  program.kept = other.kept;
  program.swapped = other.swapped;
  program.workspace = other.workspace;
  return program;
}

StageProgram scaled(StageProgram program, double factor, const Share& share) {
  const double time = factor * static_cast<double>(share.end - share.begin) / static_cast<double>(share.of);
  program = with_times(std::move(program), time);
  for (BackwardStep& step : program.backward) {
    step.restored = share * step.restored;
    step.released = share * step.released;
    step.workspace = share * step.workspace;
  }
  program.kept = share * program.kept;
  for (SwappedStash& part : program.swapped) part.bytes = share * part.bytes;
  program.workspace = share * program.workspace;
  return program;
}

Seconds update_time(const DeviceKind& kind, const Training& training, Bytes parameters) {
  if (!kind.update_bandwidth) return Seconds(0);
  return parameters * (1 + training.gradient_copies + training.optimizer_copies) / *kind.update_bandwidth;
}

}  // namespace stagecraft
