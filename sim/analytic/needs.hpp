#pragma once

#include "sim/analytic/occupancy.hpp"
#include "sim/base/index.hpp"
#include "sim/model/op_graph.hpp"

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <utility>
#include <vector>

namespace stagecraft {

/// What the operations of a run wait for whatever the order of the devices: a lowered run has dependencies that are
/// there only because of its order, and leaves out some that its order implies.
class Needs {
 public:
  /// `occupancy` must outlive it.
  explicit Needs(const Occupancy& occupancy) : occupancy_(occupancy) {}

  /// Those of the window's i-th operation; valid until the next call. **Requires** all operations, one after the other.
  [[nodiscard]] std::span<const OpId> of(const OpGraph& window, std::size_t i);

 private:
  [[nodiscard]] bool is_needed(const Op& op, OpId earlier) const;

  const Occupancy& occupancy_;
  std::vector<OpKind> kinds_;  ///< by operation
  /// By replica and microbatch the last computation that was appended, on lanes that keep the order of appending.
  std::map<std::pair<ReplicaId, std::uint32_t>, OpId> last_;
  std::vector<OpId> needs_;
};

}  // namespace stagecraft
