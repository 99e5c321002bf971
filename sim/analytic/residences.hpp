#pragma once

#include "sim/base/index.hpp"
#include "sim/base/quantity.hpp"
#include "sim/model/op_graph.hpp"
#include "sim/model/platform.hpp"
#include "sim/model/replicas.hpp"

#include <cstdint>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

namespace stagecraft {

struct Plan;

/// For each replica the least times for which its microbatches are in flight there, from the start of the forward to
/// the end of the backward: the longest chain of operations of the microbatch in between. It looks at the first
/// microbatches, until turns and memory actions repeat; later ones take as long.
class Residences {
 public:
  /// `platform` and `replicas` must outlive it. `plan`: of the iteration or the run.
  Residences(const Platform& platform, const Replicas& replicas, const Plan& plan);

  /// Takes the next operation, and how long it takes at least.
  void add(OpId id, const Op& op, Seconds time, std::span<const OpId> dependencies);

  /// The sum over those of the first `microbatches` that the replica runs; less than they take together if what
  /// repeats is so long that it was cut off.
  [[nodiscard]] Seconds sum(ReplicaId replica, std::int64_t microbatches) const;

 private:
  /// By replica whose forward comes before an operation: the longest chain from the start of that forward to the end
  /// of the operation.
  using Chains = std::vector<std::pair<ReplicaId, Seconds>>;
  struct Known {
    std::uint32_t microbatch = 0;
    Chains chains;
  };
  static void merge(Chains& into, const Chains& chains);

  const Platform& platform_;
  const Replicas& replicas_;
  std::int64_t round_;                              ///< microbatches, after which they take as long again
  std::int64_t looked_at_;                          ///< microbatches
  std::unordered_map<std::uint64_t, Known> known_;  ///< by operation
  IndexVector<ReplicaId, std::vector<std::pair<std::int64_t, Seconds>>> found_;  ///< microbatch and time
};

}  // namespace stagecraft
