#pragma once

#include "sim/base/index.hpp"
#include "sim/model/op_graph.hpp"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace stagecraft {

/// A microbatch's backward that has been appended completely.
struct EndedBackward {
  ReplicaId replica;
  std::uint32_t microbatch = 0;  ///< as the orders count it
  OpId op;
  std::vector<OpId> completes;  ///< by bucket of gradients: what completes it; empty: `op` completes all
  bool is_reduced = false;      ///< the reduce-scatters of its own stage's gradients have been appended

  /// What completes a bucket of gradients, which is the k-th that the backward completes.
  [[nodiscard]] OpId completion(std::size_t k) const { return completes.empty() ? op : completes[k]; }
};

}  // namespace stagecraft
