#pragma once

#include "sim/base/quantity.hpp"
#include "sim/model/degrees.hpp"
#include "sim/model/exchange.hpp"
#include "sim/model/plan.hpp"
#include "sim/model/platform.hpp"

#include <vector>

namespace stagecraft {

/// What one member of a group sends another in a phase of exchanges.
struct ExchangedBytes {
  DeviceId from;
  DeviceId to;
  Bytes bytes;
  Seconds seconds;  ///< until its links have carried what all flows of the phase bring to them, latency included
};

/// Flows that run at the same time, and that all end before the next phase begins.
struct ExchangedPhase {
  Seconds latency;  ///< that passes before
  std::vector<ExchangedBytes> flows;
};

/// The exchanges of a group that follow one another as one collective: phase by phase the bytes of all of them. With
/// the latencies it takes as long as they do, if nothing else uses the links. What is hidden beside computations is
/// left out: whole exchanges, or of each flow the part that ends before the computation does; a rest that is not longer
/// than the latency is left out, too.
/// **Requires** as `ExchangeClock`, and a platform without a table of bandwidths.
[[nodiscard]] std::vector<ExchangedPhase> joined_exchanges(const Platform& platform, const Group& group,
                                                           const Degrees& degrees,
                                                           const std::vector<Exchange>& exchanges);

}  // namespace stagecraft
