#include "sim/analytic/one_pass.hpp"

#include "sim/analytic/transfer_cost.hpp"
#include "sim/base/error.hpp"
#include "sim/engine/ring.hpp"
#include "sim/model/noise.hpp"

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <variant>
#include <vector>

namespace stagecraft {
namespace {

/// The part of an earlier operation that later ones need.
struct Past {
  Seconds start;
  Seconds end;
  OpKind kind = OpKind::Setup;
};

class OnePass {
 public:
  /// **Requires** events that are noise at a time.
  OnePass(const Platform& platform, const Events& events, const RunSink& sink)
      : platform_(platform), cost_(platform), sink_(sink) {
    for (std::uint32_t i = 0; i < events.size(); ++i) {
      noises_.push_back({events[i].at, i, std::get<Jitter>(events[i].change)});
    }
    std::ranges::stable_sort(noises_, {}, &Noise::at);
    if (!sink_.strike) return;
    // Noise changes nothing that a sink keeps, so all of it may come before the spans.
    for (const Noise& noise : noises_) sink_.strike({noise.event, noise.at}, events[noise.event]);
  }

  void run(const OpGraph& graph) {
    STAGECRAFT_CHECK(graph.first_id.value() == past_.end(), "windows are numbered without gaps");
    for (const Lane& lane : graph.new_lanes) {
      STAGECRAFT_CHECK(lane.discipline == Discipline::Strict, "one pass needs strict lanes");
      lanes_.push_back({lane.device, lane.connection, Seconds(0)});
    }
    extra_ = graph.extra_lanes.data();
    past_.reserve(graph.ops.size());
    for (std::size_t i = 0; i < graph.ops.size(); ++i) run(graph, i);
    past_.drop_before(std::max(past_.begin(), graph.retired.value()));
    now_ = past_.begin() == past_.end() ? now_ : past_[past_.end() - 1].end;
  }
  [[nodiscard]] Seconds now() const { return now_; }

 private:
  struct Noise {
    Seconds at;
    std::uint32_t event = 0;  ///< its position
    Jitter jitter;
  };
  struct LaneState {
    DeviceId device;
    bool connection = false;
    Seconds free_at;
  };

  void run(const OpGraph& graph, std::size_t index) {
    const Op& op = graph.ops[index];
    Span span;
    span.id = OpId(graph.first_id.value() + index);
    OpId cause(0);
    for (OpId earlier : graph.before_start(index)) {
      STAGECRAFT_CHECK(earlier.value() >= past_.begin() && earlier < span.id, "a dependency is in hand");
      const Past& before = past_[earlier.value()];
      if (before.end < span.cause_end || (before.end == span.cause_end && earlier < cause)) continue;
      cause = earlier;
      span.cause = before.kind;
      span.cause_start = before.start;
      span.cause_end = before.end;
    }
    const Seconds ready = std::max(op.not_before, span.cause_end);
    span.start = ready;
    Seconds waited;
    if (!op.lane.is_none()) {
      const LaneState& lane = lanes_[op.lane.value()];
      span.start = std::max(ready, lane.free_at);
      if (lane.connection) waited = span.start - ready;
    }
    for (std::uint8_t k = 0; k < op.extra_lanes; ++k) {
      span.start = std::max(span.start, lanes_[extra_[k].value()].free_at);
    }
    span.end = span.start + (is_transfer(op.kind) ? cost_(op, waited) : time_of(op, span.start));
    if (const OpId last = graph.before_end(index); !last.is_none()) {
      span.end = std::max(span.end, past_[last.value()].end);
    }
    if (!op.lane.is_none()) lanes_[op.lane.value()].free_at = span.end;
    Past& past = past_.extend();  // field by field: a copy would have to wait for the fields that were just computed
    past.start = span.start;
    past.end = span.end;
    past.kind = op.kind;
    sink_.span(span, op, graph.deltas_of(index));
    if (op.extra_lanes > 0) report_extra_lanes(span, op);
  }

  /// The time of an operation that is not a transfer, with its noise.
  [[nodiscard]] Seconds time_of(const Op& op, Seconds start) const {
    if (noises_.empty() || !is_compute(op.kind) || op.kind == OpKind::Exchange) return op.seconds;
    const auto later = std::ranges::upper_bound(noises_, start, {}, &Noise::at);
    if (later == noises_.begin()) return op.seconds;
    return op.seconds * noise_factor(std::prev(later)->jitter, op, platform_.device(op.from));
  }

  void report_extra_lanes(const Span& span, Op op) {
    for (std::uint8_t k = 0; k < op.extra_lanes; ++k, ++extra_) {
      LaneState& lane = lanes_[extra_->value()];
      lane.free_at = span.end;
      if (lane.device.is_none()) continue;
      op.from = op.to = platform_.place(lane.device);
      sink_.span(span, op, {});
    }
  }

  const Platform& platform_;
  TransferCost cost_;
  const RunSink& sink_;
  std::vector<Noise> noises_;  ///< by time
  Ring<Past> past_;
  std::vector<LaneState> lanes_;
  const LaneId* extra_ = nullptr;
  Seconds now_;
};

}  // namespace

void evaluate_in_one_pass(const Platform& platform, const OpSource& source, const Events& events, const RunSink& sink) {
  OnePass pass(platform, events, sink);
  Observation observation;
  while (const std::optional<OpGraph> graph = source.next(observation)) {
    pass.run(*graph);
    observation.now = pass.now();
  }
}

}  // namespace stagecraft
