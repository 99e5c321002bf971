#pragma once

#include "planners/director/draft.hpp"
#include "planners/director/stage_costs.hpp"
#include "sim/base/index.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <random>
#include <string>
#include <vector>

namespace stagecraft::director {

/// Random numbers that are the same on every machine.
class Random {
 public:
  explicit Random(std::uint64_t seed) : engine_(seed) {}
  /// One of 0 … count - 1. **Requires** a count above 0.
  std::size_t below(std::size_t count) { return static_cast<std::size_t>(engine_() % count); }
  /// In [0, 1).
  double part() { return static_cast<double>(engine_() >> 11U) * 0x1.0p-53; }

 private:
  std::mt19937_64 engine_;
};

/// Where a draft may be changed.
struct MoveSpace {
  const StageCosts& costs;
  const std::vector<std::vector<DeviceId>>& nodes;
  const std::vector<NodeRuns>& runs;                 ///< drafts that differ in names only are tried once
  std::vector<ScheduleChoice> schedules;             ///< that a draft may have
  std::vector<std::optional<Bytes>> buckets = {{}};  ///< likewise; what `moved` makes has the first
};

/// Changes the draft a little, by a move drawn at random: the boundary of two stages by one, two or four layers; a
/// device from one stage to another, after which all may be dealt anew; two stages become one, or one becomes two;
/// devices, or all devices of two stages, change places; devices are dealt anew over nodes, the same ones or the
/// fastest; replicas take turns or divide each microbatch; another schedule; idle devices more, fewer devices, or an
/// idle one in place of one. The stages that compute longest are changed most often. None where the move that is drawn
/// changes nothing.
/// **Cost** O(layers + devices).
[[nodiscard]] std::optional<Draft> moved(const Draft& draft, const MoveSpace& space, Random& random);

/// All single moves of boundaries, of devices between stages, of idle devices, of ways to share, of schedules and of
/// buckets, in a fixed order. Devices of a node that are equally fast count as one.
[[nodiscard]] std::vector<Draft> neighbours(const Draft& draft, const MoveSpace& space);

}  // namespace stagecraft::director
