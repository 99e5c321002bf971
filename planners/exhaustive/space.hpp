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

/// What is searched: all ways to cut `layers` into non-empty pieces, in order, and to give each piece one device or
/// more, in order.
struct Space {
  std::size_t layers = 1;
  std::size_t devices = 1;
  bool use_fewer = true;       ///< devices at the end of the platform may be left over
  bool round_robin = true;     ///< whether replicas may alternate
  std::size_t most_split = 0;  ///< replicas that may divide a microbatch among them; below 2: none

  /// Ways in which `replicas` devices can share a stage.
  [[nodiscard]] std::size_t ways(std::size_t replicas) const;
};

/// How many plans there are: of the whole space, and of each subtree of a search that goes stage by stage.
/// **Cost** O(devices² · stages) once, where counting ends with the number of stages that is the first beyond the
/// limit.
class SpaceCount {
 public:
  /// Beyond this number plans are not counted to the end; below it counts are exact.
  static constexpr double kMost = 1e15;

  explicit SpaceCount(const Space& space);

  /// Plans in the space, or a number above `kMost`.
  [[nodiscard]] double total() const { return total_; }
  /// Ways to cut `layers` into `stages` pieces and give them exactly `devices` devices; 1 for nothing of all three.
  /// **Requires** a total within `kMost`.
  [[nodiscard]] double completions(std::size_t stages, std::size_t layers, std::size_t devices) const;

 private:
  void add_stage();

  Space space_;
  std::vector<std::vector<double>> assignments_;  ///< [stages][devices]
  double total_ = 0.0;
};

}  // namespace stagecraft::exhaustive
