#pragma once

#include "sim/analytic/sampled_run.hpp"
#include "sim/base/index.hpp"
#include "sim/base/quantity.hpp"

#include <cstdint>
#include <vector>

namespace stagecraft {

/// The least time for which a microbatch is in flight on a replica.
struct Residence {
  std::uint32_t microbatch = 0;
  Seconds time;
};

/// For each replica the residences of its representatives, from the start of the forward to the end of the backward:
/// the longest chain of operations of the microbatch in between.
/// **Cost** for each representative O(its operations × stages).
[[nodiscard]] IndexVector<ReplicaId, std::vector<Residence>> residences(const SampledRun& run);

}  // namespace stagecraft
