#pragma once

#include "sim/base/index.hpp"
#include "sim/model/layer_graph.hpp"
#include "sim/model/op_graph.hpp"
#include "sim/model/platform.hpp"
#include "sim/model/replicas.hpp"
#include "sim/model/report.hpp"
#include "sim/model/timeline.hpp"
#include "sim/schedule/schedule_program.hpp"

#include <compare>
#include <cstddef>
#include <cstdint>
#include <map>
#include <unordered_map>
#include <utility>
#include <vector>

namespace stagecraft {

struct Plan;

/// What is moved, and between which stages. For an all-reduce, an exchange, a swap or a migration both are the stage
/// itself. For boundary tensors of a plan that has followed another, `to` is none; likewise for an all-reduce of tied
/// parameters, whose `from` is the first of their stages.
struct TrafficCause {
  OpKind kind = OpKind::Activation;
  StageId from;
  StageId to;
  friend auto operator<=>(const TrafficCause&, const TrafficCause&) = default;
};

/// Bytes that one cause moves from one place to another, or over one leg of the way between them.
struct Flow {
  TrafficCause cause;
  PlaceId source;
  PlaceId target;
  Leg leg = Leg::Whole;
  double bytes = 0.0;
  friend auto operator<=>(const Flow&, const Flow&) = default;
};

/// All transfers of a run between places.
struct Traffic {
  std::vector<Flow> flows;  ///< by cause, then by places
  std::int64_t parts = 1;  ///< number of iterations, or of microbatches in an asynchronous run, that the bytes sum over
};

/// Sums up the transfers of a run by cause and pair of places. In an asynchronous run only whole rounds count
/// (`whole_round`): then the average per microbatch is exact.
class TrafficFold {
 public:
  /// `platform` must outlive the fold. **Requires** the plan that runs, ready for its schedule. `iterations` is the
  /// number of iterations of the run if the schedule flushes.
  TrafficFold(const Platform& platform, const Plan& plan, std::int64_t iterations);

  void add(const Span& span, const Op& op);

  /// **Requires** that the whole run has been added.
  [[nodiscard]] Traffic finish() const;

 private:
  /// What tells transfers with different causes or places apart, as operations name it.
  struct Pair {
    OpKind kind = OpKind::Activation;
    StageId stage;
    std::uint16_t chunk = 0;
    PlaceId source;
    PlaceId target;
    Leg leg = Leg::Whole;
    friend bool operator==(const Pair&, const Pair&) = default;
  };
  struct PairHash {
    std::size_t operator()(const Pair& pair) const;
  };

  [[nodiscard]] TrafficCause cause_of(const Pair& pair) const;

  const Platform& platform_;
  Replicas replicas_;
  std::size_t stages_;
  bool synchronous_;
  std::int64_t parts_ = 1;
  std::unordered_map<Pair, double, PairHash> sums_;  ///< bytes of the transfers that count; exact up to 2^53
};

/// A plan's evaluation, with its traffic. An asynchronous run is extended until its period has converged.
struct TrafficEvaluation {
  Report report;
  Traffic traffic;
};
/// **Throws** as `evaluate_program`.
[[nodiscard]] TrafficEvaluation evaluate_traffic(const LayerGraph& graph, const Platform& platform,
                                                 const ScheduleProgram& program);

/// Bytes by cause, largest first and ties by cause: of all flows, each way counted once, or of the flows over each
/// link.
using Loads = std::vector<std::pair<TrafficCause, double>>;
[[nodiscard]] Loads loads_by_cause(const Traffic& traffic);
[[nodiscard]] std::map<LinkId, Loads> loads_by_link(const Platform& platform, const Traffic& traffic);

}  // namespace stagecraft
