#pragma once

#include "planners/shared/costs/chain.hpp"
#include "sim/base/ticks.hpp"

#include <optional>
#include <vector>

namespace stagecraft {

/// A chain as PipeDream would cut it, without replication, for comparison.
struct PipedreamCut {
  std::vector<ChainStage> stages;  ///< in chain order, on devices 0, 1, 2, …
  Ticks claimed = 0;               ///< the largest load of a stage or cut
  Ticks achieved = 0;              ///< the least period of 1F1B* on these stages
};

/// The cut with the least claimed period, if the i-th stage from the end is assumed to hold i microbatches, whatever
/// the transfers at the cuts take; none if no cut passes that test. Of equal cuts it is the one with fewer stages; of
/// these the one with the shorter first stage, and so on.
/// **Cost** O(layers² · devices) at worst.
/// **Source** our own model of PipeDream's partition in MadPipe's comparison; memory is counted as in the memory
/// ledger.
[[nodiscard]] std::optional<PipedreamCut> pipedream_cut(const Chain& chain);

}  // namespace stagecraft
