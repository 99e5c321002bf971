#pragma once

#include "planners/pipedream/down_sets.hpp"
#include "sim/model/platform.hpp"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <vector>

namespace stagecraft::pipedream {

/// "Before the first state": where the model's first segment starts.
inline constexpr std::size_t kNothing = static_cast<std::size_t>(-1);

/// How many copies of what a replica keeps.
struct Copies {
  double weights = 0.0;
  double stashes = 0.0;
};

/// What one replica of a stage holds, and how much it may: fixed(K, J) + copies.weights × Par + copies.stashes × Act.
struct MemoryTest {
  double capacity = std::numeric_limits<double>::infinity();
  /// Counts of a replica of a stage with `replicas` devices and `downstream` devices behind it.
  std::function<Copies(std::int64_t replicas, std::int64_t downstream)> copies;
  /// The part that does not depend on counts. **Shape** entry J * (J + 1) / 2 + K + 1, K from -1 ("nothing"); empty: 0.
  std::vector<double> fixed;
  /// Devices are counted over the whole pipeline, through all levels; else within one level, each level tested with its
  /// own segments, as the original does.
  bool whole_pipeline = false;
};

struct Settings {
  std::vector<Level> levels;  ///< innermost first; empty: one device
  double time_factor = 1.0;   ///< on the profile's times
  bool communication = true;  ///< a boundary costs time
  bool straight = false;      ///< every stage has one device
  bool use_fewer = false;     ///< devices of a level may be left idle
  const MemoryTest* memory = nullptr;
};

/// States (from, to] on `replicas` members of a level: a stage at the innermost level, else a pipeline of segments on
/// each member.
struct Segment {
  std::size_t from = kNothing;
  std::size_t to = 0;
  std::uint32_t replicas = 1;
  std::vector<Segment> inner;
  friend bool operator==(const Segment&, const Segment&) = default;
};

struct Answer {
  double period = std::numeric_limits<double>::infinity();  ///< seconds per microbatch; infinite: nothing fits
  std::vector<Segment> segments;                            ///< of the outermost level
};

/// The best hierarchical pipeline.
///
/// T_1(K..J) = C_J - C_K is the time of the states (K, J] on one device, T_{L+1}(K..J) = A_L(K..J, M_L). At a level of
/// M members and bandwidth B, with w members per member of the level below,
///   A(K..J, r) = min of [T(K..J) + (4 (r-1) Par / (B r)) / w] / r        one stage on r members
///                and over K ⊂ k ⊂ J, q < r of the largest of A(K..k, r - q),
///                    [T(k..J) + 4 (q-1) Par / (B q)] / q, 2 O_k / (B q) and, unless J ends the model, 2 O_J / (B q).
/// A only grows with fewer choices of k, and rows of J need only rows of smaller sets. The witness is found by running
/// a segment's rows once more and taking, from the last stage back, the first (k, q) that gives the smallest value.
/// **Requires** a memory test, if any, that fits the states.
/// **Cost** `transitions` of about 0.2 ns; memory O(states²) for every level but the outermost, else O(states · M).
/// **Source** PipeDream (SOSP 2019), optimizer_graph_hierarchical.py; k is always between K and J, which the original
/// does not ask at inner levels (no recorded result depends on it).
[[nodiscard]] Answer optimize(const DownSets& states, const Settings& settings);

/// Triples (segment, k, q) that `optimize` examines, an upper bound that takes every smaller set for a subset.
[[nodiscard]] double transitions(std::size_t state_count, const Settings& settings);

/// The time of pure data parallelism: t ← (t + 4 (M-1) Par / (B M w)) / M for each level, from t = C of the whole
/// model.
[[nodiscard]] double data_parallel_time(const DownSets& states, const Settings& settings);

}  // namespace stagecraft::pipedream
