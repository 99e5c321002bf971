#pragma once

#include <cstddef>
#include <vector>

namespace stagecraft::exhaustive {

/// Layers [begin, end) of the canonical order on the next `replicas` devices of the platform.
struct Piece {
  std::size_t begin = 0;
  std::size_t end = 0;
  std::size_t replicas = 1;
  bool split = false;
  friend bool operator==(const Piece&, const Piece&) = default;
};

/// The space that is searched: all cuts of `layers` into non-empty pieces, in order, with all assignments of one or
/// more devices to each piece, in order.
struct Space {
  std::size_t layers = 1;
  std::size_t devices = 1;
  bool use_fewer = true;       ///< devices at the end of the platform may be left over
  bool round_robin = true;     ///< whether replicas may alternate
  std::size_t most_split = 0;  ///< largest number of replicas that may divide a microbatch; below 2: none may

  /// The number of ways in which `replicas` devices can share a stage (alternating, dividing).
  [[nodiscard]] std::size_t ways(std::size_t replicas) const;
};

/// The number of plans in the whole space, and in each subtree of a search that goes stage by stage. Cuts and
/// assignments are independent: `layers` have binomial(layers - 1, stages - 1) cuts, and assignments are counted by a
/// recurrence over stages.
/// **Cost** O(devices² · stages) once; counting stops at the first number of stages with which the total exceeds the
/// limit.
class SpaceCount {
 public:
  /// Counting stops beyond this number of plans; below it counts are exact.
  static constexpr double kMost = 1e15;

  explicit SpaceCount(const Space& space);

  /// Plans in the space, or a number above `kMost`.
  [[nodiscard]] double total() const { return total_; }
  /// The number of ways to cut `layers` into `stages` pieces and give them exactly `devices` devices; 1 if all are 0.
  /// **Requires** a total within `kMost`.
  [[nodiscard]] double completions(std::size_t stages, std::size_t layers, std::size_t devices) const;

 private:
  void add_stage();

  Space space_;
  std::vector<std::vector<double>> assignments_;  ///< [stages][devices]: ways to give the stages exactly these devices
  double total_ = 0.0;
};

}  // namespace stagecraft::exhaustive
