#pragma once

#include "sim/model/replicas.hpp"
#include "sim/model/schedule.hpp"
#include "sim/schedule/boundaries.hpp"

#include <array>
#include <cstddef>
#include <vector>

namespace stagecraft {

/// A boundary as one of its stages sees it.
struct BoundaryEnd {
  std::size_t boundary = 0;  ///< position among those of the plan
  StageId peer;              ///< the other stage
};

/// The boundaries over which the stages of a plan send and receive, asked for by a send or a receive (a mark).
class TransferEnds {
 public:
  /// `replicas` must outlive it. **Cost** O(replicas + boundaries).
  TransferEnds(const std::vector<Boundary>& boundaries, const Replicas& replicas);

  /// Those over which the mark's stage passes on or takes what the mark is for, also where it stays on its device.
  [[nodiscard]] const std::vector<BoundaryEnd>& all(const Action& mark) const {
    return by_stage_.at(is_send(mark.kind) != is_of_gradient(mark.kind) ? 1 : 0)[mark.stage.value()];
  }
  /// Those of them at whose other end another device runs the microbatch: the transfers of which the mark is an end.
  /// **Requires** a microbatch of the stage's pipeline, and stages that do not divide theirs.
  [[nodiscard]] std::vector<BoundaryEnd> of(const Action& mark) const;

 private:
  const Replicas& replicas_;
  std::array<std::vector<std::vector<BoundaryEnd>>, 2> by_stage_;  ///< those of producers, after those of consumers
};

}  // namespace stagecraft
