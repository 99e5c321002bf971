#pragma once

#include "sim/base/index.hpp"
#include "sim/base/quantity.hpp"
#include "sim/model/events.hpp"
#include "sim/model/layer_graph.hpp"
#include "sim/model/platform.hpp"
#include "sim/schedule/lower.hpp"

#include <cstdint>
#include <optional>
#include <utility>

namespace stagecraft {

/// What keeps a plan from being faster.
struct BoundCause {
  enum class Kind : std::uint8_t {
    Device,    ///< its work
    Channel,   ///< what crosses the cut between `stage` and `other`, which one channel carries
    Link,      ///< the bytes over it
    InFlight,  ///< the time for which a microbatch is in flight at `stage`, and how many may be
    Chain,     ///< operations that wait for each other
  };
  Kind kind = Kind::Chain;
  DeviceId device;
  LinkId link;
  StageId stage;
  StageId other;
  friend bool operator==(const BoundCause&, const BoundCause&) = default;
};

/// A time that no order of a plan's work can beat: of a flushed iteration, or of an asynchronous run per microbatch in
/// the long run.
struct LowerBound {
  Seconds time;
  BoundCause cause;
  friend bool operator==(const LowerBound&, const LowerBound&) = default;

  /// Takes the larger one; `other` only if it is larger.
  void raise_to(Seconds least, const BoundCause& decides) {
    if (least > time) *this = {least, decides};
  }
};

struct BoundOptions {
  LowerOptions lowering;     ///< the network and the literal orders; the rest does not matter
  bool shares_links = true;  ///< transfers that meet on a link divide its bandwidth, as in `replay`
};

/// The bound of a plan with its own stages, replicas, actions for memory and caps (docs/reference/report.md). None for
/// an iteration of more operations than are kept, for a run without a whole round, and where nothing takes any time.
/// **Requires** and **Throws** as `lower`.
/// **Cost** O(operations log operations); memory O(operations of an iteration).
[[nodiscard]] std::optional<LowerBound> lower_bound(const LayerGraph& graph, const Platform& platform,
                                                    const ScheduleProgram& program, const BoundOptions& options = {});

/// The bound of the plan's evaluated period; none for a synchronous plan. **Requires** and **Throws** as above.
[[nodiscard]] std::optional<Seconds> evaluated_period_bound(const LayerGraph& graph, const Platform& platform,
                                                            const ScheduleProgram& program,
                                                            const LowerOptions& lowering = {});

/// Whether the bound of a plan without events holds for a run with them: it does for iterations if they only slow
/// things down. Noise may speed things up. A period is taken over a window, in which a pipeline may catch up.
[[nodiscard]] bool bound_holds(const Platform& platform, const Events& events, bool synchronous);

}  // namespace stagecraft
