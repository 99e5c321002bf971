#pragma once

#include "planners/exhaustive/free_devices.hpp"
#include "sim/base/index.hpp"

#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <vector>

namespace stagecraft::exhaustive {

/// Layers [begin, end) of the canonical order on some devices.
struct Piece {
  std::size_t begin = 0;
  std::size_t end = 0;
  std::vector<DeviceId> devices;  ///< ascending
  bool split = false;
  friend bool operator==(const Piece&, const Piece&) = default;
};

/// The space that is searched: all cuts of `layers` into non-empty pieces, in order, with all assignments of one or
/// more devices to each piece, in order, that `nodes` tells apart.
struct Space {
  std::size_t layers = 1;
  std::vector<NodeRuns> nodes;
  bool use_fewer = true;       ///< devices may be left over
  bool round_robin = true;     ///< whether replicas may alternate
  std::size_t most_split = 0;  ///< largest number of replicas that may divide a microbatch; below 2: none may

  [[nodiscard]] std::size_t devices() const;
  /// The number of ways in which `replicas` devices can share a stage (alternating, dividing).
  [[nodiscard]] std::size_t ways(std::size_t replicas) const;
};

/// The number of plans in the whole space, and in each subtree of a search that goes stage by stage. Cuts and
/// assignments are independent: `layers` have binomial(layers - 1, stages - 1) cuts, and assignments are counted by a
/// recurrence over stages, whose state is what devices are free.
/// **Cost** for each number of stages, of devices, and each state, the choices of a stage; counting stops at the first
/// number of stages with which the total exceeds the limit.
class SpaceCount {
 public:
  /// Counting stops beyond this number of plans; below it counts are exact.
  static constexpr double kMost = 1e15;

  /// **Throws** InputError for devices of so many runs that counting would take long.
  explicit SpaceCount(const Space& space);

  /// Plans in the space, or a number above `kMost`.
  [[nodiscard]] double total() const { return total_; }
  /// The number of ways to cut `layers` into `stages` pieces and give them exactly `devices` of the free devices; 1 if
  /// all are 0 and `free` may be left over. **Requires** a total within `kMost`.
  [[nodiscard]] double completions(std::size_t stages, std::size_t layers, std::size_t devices,
                                   const FreeDevices& free) const;

 private:
  [[nodiscard]] double assignments(std::size_t stages, std::size_t devices, FreeDevices free) const;
  [[nodiscard]] std::uint64_t key(std::size_t stages, std::size_t devices, const FreeDevices& free) const;

  Space space_;
  mutable std::unordered_map<std::uint64_t, double> counted_;  ///< what `assignments` has found, by `key`
  double total_ = 0.0;
};

}  // namespace stagecraft::exhaustive
