#include "sim/schedule/stage_program.hpp"

#include "sim/model/plan.hpp"

#include <algorithm>
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

/// Builds the backward from the last layer to the first. A step ends where a recompute segment begins or ends, where a
/// swapped stash is needed for the first time (only the layers from there on wait for its copy), and where a bucket of
/// gradients is complete.
class BackwardWalk {
 public:
  BackwardWalk(const Stage& stage, const std::vector<GradientBucket>& buckets, StageProgram& program)
      : program_(program),
        buckets_(buckets),
        swaps_(actions_of<Swap>(stage)),
        actions_(actions_by_layer(actions_of<Recompute>(stage), swaps_)),
        item_of_(swaps_.size(), kNone) {}

  void take(LayerId id, const Layer& layer, const LayerTimes& times) {
    const std::size_t segment = find_or_none(actions_.segment, id);
    const std::size_t swap = find_or_none(actions_.swap, id);
    const bool is_needed_first = swap != kNone && item_of_[swap] == kNone;
    const bool is_new = program_.backward.empty() || program_.backward.back().completes || is_needed_first;
    if (is_new || segment != open_segment_) program_.backward.emplace_back();
    BackwardStep& step = program_.backward.back();
    step.backward += times.backward;
    step.weight += times.backward_weight;
    step.workspace = std::max(step.workspace, layer.workspace);
    if (is_needed_first) {
      step.needs = item_of_[swap] = program_.swapped.size();
      program_.swapped.push_back({Bytes(0), swaps_[swap].prefetch});
    }
    if (segment != open_segment_) open(segment);
    if (segment != kNone) {
      restore(layer, times.forward);
    } else {
      (swap == kNone ? program_.kept : program_.swapped[item_of_[swap]].bytes) += layer.stash;
    }
    if (next_bucket_ < buckets_.size() && buckets_[next_bucket_].completed_by == id) step.completes = next_bucket_++;
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
    first.restored -= checkpoint_;
    program_.kept += checkpoint_;
    program_.backward[segment_end_].released = first.restored;
  }

  /// The first step of a segment recomputes all of it. The segment's first layer keeps its checkpoint, which need not
  /// be recomputed. The walk meets that layer last, so the checkpoint noted last counts when the segment is closed.
  void restore(const Layer& layer, Seconds forward) {
    BackwardStep& first = program_.backward[segment_begin_];
    first.recompute += forward;
    first.restored += layer.stash;
    first.workspace = std::max(first.workspace, layer.workspace);
    checkpoint_ = layer.checkpoint;
    segment_end_ = present_step();
  }

  StageProgram& program_;
  const std::vector<GradientBucket>& buckets_;
  std::vector<Swap> swaps_;
  ActionsOf actions_;
  std::vector<std::size_t> item_of_;  ///< by swap: its position in `StageProgram::swapped`
  std::size_t next_bucket_ = 0;
  std::size_t open_segment_ = kNone;  ///< the segment of the layer that was taken last
  std::size_t segment_begin_ = 0;     ///< its first step
  std::size_t segment_end_ = 0;       ///< its last step so far
  Bytes checkpoint_;                  ///< of its earliest layer so far
};

template <class Times>
StageProgram program_with(const LayerGraph& graph, const Stage& stage, const std::vector<GradientBucket>& buckets,
                          const Times& times) {
  StageProgram program;
  BackwardWalk walk(stage, buckets, program);
  for (std::size_t at = stage.layers.size(); at-- > 0;) {
    const LayerId id = stage.layers[at];
    const Layer& layer = graph.layers[id];
    const LayerTimes own = times(id);
    program.forward += own.forward;
    program.parameters += layer.parameters;
    program.workspace = std::max(program.workspace, layer.workspace);
    walk.take(id, layer, own);
  }
  walk.end();
  return program;
}

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
  return program_with(graph, stage, buckets, [&](LayerId id) {
    const Layer& layer = graph.layers[id];
    return LayerTimes{layer.forward, layer.backward, layer.backward_weight};
  });
}

StageProgram stage_program(const LayerGraph& graph, const Stage& stage, const std::vector<GradientBucket>& buckets,
                           const std::function<LayerTimes(LayerId)>& times) {
  return program_with(graph, stage, buckets, times);
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

StageProgram with_bytes_of(StageProgram program, const Share& share) {
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

StageProgram scaled(StageProgram program, double factor, const Share& share) {
  const double time = factor * static_cast<double>(share.end - share.begin) / static_cast<double>(share.of);
  return with_bytes_of(with_times(std::move(program), time), share);
}

Seconds update_time(const DeviceKind& kind, const Training& training, Bytes parameters) {
  if (!kind.update_bandwidth) return Seconds(0);
  return parameters * (1 + training.gradient_copies + training.optimizer_copies) / *kind.update_bandwidth;
}

}  // namespace stagecraft
