#pragma once

#include "sim/model/measurement.hpp"
#include "sim/model/op_graph.hpp"
#include "sim/model/platform.hpp"

#include <cstdint>
#include <utility>
#include <vector>

namespace stagecraft::test {

/// Nodes of one device each, behind one non-blocking switch.
inline Platform star(std::uint32_t devices, BytesPerSecond bandwidth, Seconds latency) {
  PlatformSpec spec;
  spec.name = "star";
  spec.device_kinds.push_back({"A", Bytes(std::int64_t{1} << 40), 1.0, Bytes(0), std::nullopt});
  NodeForm form;
  // Each route crosses a link up and a link down, so each of them has half of the latency.
  form.node_kinds.push_back({"node", DeviceKindId(0), 1, std::nullopt, std::nullopt,
                             NicSpec{{bandwidth, latency / 2.0, Duplex::Full, Sharing::Fair}, false}});
  form.groups.push_back({NodeKindId(0), devices});
  spec.form = std::move(form);
  return build_platform(std::move(spec));
}

/// A flushed iteration of 1F1B: one stage on each device of a platform, every stage with the same times, and every
/// boundary with the same bytes.
struct OneFOneB {
  std::uint32_t stages = 1;
  std::uint32_t microbatches = 1;
  Seconds forward{0.01};
  Seconds backward{0.02};
  Bytes bytes{1000000};

  [[nodiscard]] Measurement measurement() const { return {true, 1, microbatches, 0, 1}; }
  /// Computations and transfers, the barrier at the end included.
  [[nodiscard]] std::uint64_t operations() const { return std::uint64_t{2} * microbatches * (2 * stages - 1) + 1; }
};

/// Makes the windows of a `OneFOneB`, so that memory does not grow with the run.
class OneFOneBSource {
 public:
  explicit OneFOneBSource(const OneFOneB& pipeline, std::size_t window = 16384)
      : pipeline_(pipeline), window_(window), stages_(pipeline.stages) {
    for (Stage& stage : stages_) {
      stage.forward_input.assign(pipeline.microbatches, OpId::none());
      stage.backward_input.assign(pipeline.microbatches, OpId::none());
    }
  }

  std::optional<OpGraph> next() {
    if (is_over_) return std::nullopt;
    OpGraph graph;
    graph.first_id = next_id_;
    if (next_id_ == OpId(0)) {
      for (std::uint32_t s = 0; s < pipeline_.stages; ++s) {
        graph.new_lanes.push_back({Discipline::Strict, DeviceId(s)});
        graph.new_stages.push_back({{DeviceId(s)}});
      }
    }
    bool some = true;
    while (some && graph.ops.size() < window_) {
      some = false;
      for (std::uint32_t s = 0; s < pipeline_.stages; ++s) some = append_next(graph, s) || some;
      for (std::uint32_t s = pipeline_.stages; s-- > 0;) some = append_next(graph, s) || some;
    }
    if (!some) append_barrier(graph);
    next_id_ = OpId(graph.first_id.value() + graph.ops.size());
    return graph;
  }

 private:
  struct Stage {
    std::uint32_t forwards = 0;
    std::uint32_t backwards = 0;
    std::vector<OpId> forward_input;   ///< by microbatch: the transfer that brings it
    std::vector<OpId> backward_input;  ///< on the last stage its own forward
    OpId last;
  };

  /// The next operation in the stage's order, if what it depends on has been appended.
  bool append_next(OpGraph& graph, std::uint32_t s) {
    Stage& stage = stages_[s];
    const std::uint32_t warm_up = std::min(pipeline_.stages - s, pipeline_.microbatches);
    if (stage.backwards == pipeline_.microbatches) return false;
    const bool is_forward = stage.forwards < pipeline_.microbatches && stage.forwards - stage.backwards < warm_up;
    return is_forward ? append_forward(graph, s, stage) : append_backward(graph, s, stage);
  }

  bool append_forward(OpGraph& graph, std::uint32_t s, Stage& stage) {
    const std::uint32_t i = stage.forwards;
    if (s > 0 && stage.forward_input[i].is_none()) return false;
    const OpId id = append(graph, OpKind::Forward, s, i, pipeline_.forward);
    if (s > 0) graph.depend_on(stage.forward_input[i]);
    graph.take(PlaceId(s), MemoryCategory::Stash, pipeline_.bytes);
    if (s + 1 < pipeline_.stages) {
      stages_[s + 1].forward_input[i] = send(graph, OpKind::Activation, s, s + 1, i, id);
    } else {
      stage.backward_input[i] = id;
    }
    ++stage.forwards;
    return true;
  }

  bool append_backward(OpGraph& graph, std::uint32_t s, Stage& stage) {
    const std::uint32_t i = stage.backwards;
    if (stage.backward_input[i].is_none()) return false;
    const OpId id = append(graph, OpKind::Backward, s, i, pipeline_.backward);
    graph.depend_on(stage.backward_input[i]);
    graph.ops.back().closes = true;
    graph.free(PlaceId(s), MemoryCategory::Stash, pipeline_.bytes);
    if (s > 0) stages_[s - 1].backward_input[i] = send(graph, OpKind::Gradient, s, s - 1, i, id);
    stage.last = id;
    ++stage.backwards;
    return true;
  }

  OpId append(OpGraph& graph, OpKind kind, std::uint32_t s, std::uint32_t microbatch, Seconds seconds) {
    Op op;
    op.kind = kind;
    op.lane = LaneId(s);
    op.stage = StageId(s);
    op.microbatch = microbatch;
    op.from = op.to = PlaceId(s);
    op.seconds = seconds;
    return graph.append(op);
  }

  OpId send(OpGraph& graph, OpKind kind, std::uint32_t from, std::uint32_t to, std::uint32_t microbatch,
            OpId after) const {
    Op op;
    op.kind = kind;
    op.stage = StageId(from);
    op.microbatch = microbatch;
    op.from = PlaceId(from);
    op.to = PlaceId(to);
    op.bytes = pipeline_.bytes;
    const OpId id = graph.append(op);
    graph.depend_on(after);
    return id;
  }

  void append_barrier(OpGraph& graph) {
    Op op;
    op.kind = OpKind::Barrier;
    graph.append(op);
    for (const Stage& stage : stages_) graph.depend_on(stage.last);
    is_over_ = true;
  }

  OneFOneB pipeline_;
  std::size_t window_;
  std::vector<Stage> stages_;
  OpId next_id_{0};
  bool is_over_ = false;
};

inline OpSource source_of(const OneFOneB& pipeline) {
  return {[source = OneFOneBSource(pipeline)](const Observation&) mutable { return source.next(); }, true};
}

}  // namespace stagecraft::test
