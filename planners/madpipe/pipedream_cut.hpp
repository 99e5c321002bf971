#pragma once

#include "planners/shared/chain.hpp"
#include "sim/base/ticks.hpp"

#include <optional>
#include <vector>

namespace stagecraft::madpipe {

/// PipeDream's way to cut a chain, without replication, for comparison.
struct PipedreamCut {
  std::vector<ChainStage> stages;  ///< in chain order, on devices 0, 1, 2, …
  Ticks claimed = 0;               ///< the largest load of a stage or cut
  Ticks achieved = 0;              ///< the least period of 1F1B* on these stages
};

/// The cut with the least claim when the i-th stage from the end is taken to hold i microbatches, whatever the cuts
/// between them take; none if no cut passes that test. Of equal cuts the one with the shorter first stage, and so on;
/// then the one with fewer stages.
/// **Cost** O(layers² · devices) at worst.
/// **Source** our model of PipeDream's partition in MadPipe's comparison; the memory formula is the ledger's.
[[nodiscard]] std::optional<PipedreamCut> pipedream_cut(const Chain& chain);

}  // namespace stagecraft::madpipe
