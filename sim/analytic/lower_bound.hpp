#pragma once

#include "sim/base/index.hpp"
#include "sim/base/quantity.hpp"
#include "sim/model/events.hpp"
#include "sim/model/layer_graph.hpp"
#include "sim/model/platform.hpp"
#include "sim/schedule/lower.hpp"

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

namespace stagecraft {

class SampledRun;

/// What keeps a plan from being faster.
struct BoundCause {
  enum class Kind : std::uint8_t {
    Device,      ///< its work
    Channel,     ///< what crosses the cut between `stage` and `other`, which one channel carries
    Link,        ///< the bytes over it
    Connection,  ///< the tensors from `device` to `to`, one after the other
    InFlight,    ///< the time for which a microbatch is in flight at `stage`, and how many may be
    Chain,       ///< operations that wait for each other
  };
  Kind kind = Kind::Chain;
  DeviceId device;
  DeviceId to;
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

  /// Takes the larger one. Of two that differ by rounding only, the first one is the cause.
  void raise_to(Seconds least, const BoundCause& decides) {
    if (least > time * (1.0 + 1e-12)) cause = decides;
    time = std::max(time, least);
  }
};

struct BoundOptions {
  LowerOptions lowering;     ///< the network and the literal orders; the rest does not matter
  bool shares_links = true;  ///< transfers that meet on a link divide its bandwidth, as in `replay`
};

/// The bound of a plan with its own stages, replicas, actions for memory and caps (docs/reference/report.md), from the
/// windows of a run that takes place anyway.
class BoundFold {
 public:
  /// `program`: of the run. `platform` must outlive it. With `takes_all` it looks at every microbatch of an iteration.
  BoundFold(const Platform& platform, const ScheduleProgram& program, bool takes_all = false);
  ~BoundFold();
  BoundFold(BoundFold&&) noexcept;
  BoundFold& operator=(BoundFold&&) noexcept;

  /// **Requires** all windows of the run, one after the other. **Cost** next to nothing for most of its operations.
  void add(const OpGraph& window);

  /// Whether some replica has run its last backward out of turn. Then only a fold that takes all has the bound.
  [[nodiscard]] bool needs_all() const;

  /// None if it needs all, if the run went over to another plan or is too long to look at, for a run without a whole
  /// round, and where nothing takes any time.
  /// **Cost** O(n log n) in the operations of one microbatch of each kind (`Representatives`).
  [[nodiscard]] std::optional<LowerBound> finish(bool shares_links) const;

 private:
  std::shared_ptr<const KeptPlan> kept_;
  bool synchronous_;
  std::vector<std::int64_t> in_flight_;  ///< by stage, the most on a replica; empty if that is not known
  std::unique_ptr<SampledRun> run_;
};

/// The bound of a plan that is not run, or that needs all. **Requires** and **Throws** as `lower`.
/// **Cost** O(operations of a run).
[[nodiscard]] std::optional<LowerBound> lower_bound(const LayerGraph& graph, const Platform& platform,
                                                    const ScheduleProgram& program, const BoundOptions& options = {});

/// Whether the bound of a plan without events holds for a run with them: it does for iterations if they only slow
/// things down. Noise may speed things up. A period is taken over a window, in which a pipeline may catch up.
[[nodiscard]] bool bound_holds(const Platform& platform, const Events& events, bool synchronous);

}  // namespace stagecraft
