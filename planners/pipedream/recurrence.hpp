#pragma once

#include "planners/pipedream/down_sets.hpp"
#include "sim/model/platform.hpp"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <vector>

namespace stagecraft::pipedream {

/// Stands for the empty set, before the first state: the start of the model's first segment.
inline constexpr std::size_t kNothing = static_cast<std::size_t>(-1);

/// How many copies of its weights and of its stash a replica keeps.
struct Copies {
  double weights = 0.0;
  double stashes = 0.0;
};

/// The memory test of a stage (K, J]: one replica holds fixed(K, J) + copies.weights × Par + copies.stashes × stash(K,
/// J) bytes, and may hold at most `capacity`.
struct MemoryTest {
  double capacity = std::numeric_limits<double>::infinity();
  /// The copies of a replica of a stage with `replicas` devices and `downstream` devices after it.
  std::function<Copies(std::int64_t replicas, std::int64_t downstream)> copies;
  /// The part that does not depend on copies. **Shape** entry J * (J + 1) / 2 + K + 1, K from -1 ("nothing"); empty: 0.
  std::vector<double> fixed;
  /// What a microbatch keeps. **Shape** as `fixed`; empty: the difference of Act of both states.
  std::vector<double> stash;
  /// The parameters. **Shape** as `fixed`; empty: the difference of Par of both states. **Requires** `stash` with it.
  std::vector<double> parameters = {};
  /// Whether devices are counted over the whole pipeline, through all levels. Otherwise they are counted within one
  /// level, and each level is tested with its own segments, as in the original program.
  bool whole_pipeline = false;
};

/// How the computation of a stage and the synchronisation of its replicas share a round.
enum class Synchronisation {
  Added,       ///< one after the other, as in the authors' program
  Overlapped,  ///< at the same time, as in the paper: the longer of the two counts
};

/// What a boundary costs.
enum class BoundaryCost {
  Divided,  ///< its bytes divided by the replicas of the later stage, as in the authors' program
  Whole,    ///< all its bytes over one link, as in the paper
};

struct Settings {
  std::vector<Level> levels;  ///< innermost first; empty: one device
  double time_factor = 1.0;   ///< relative to the times of the profile
  double overhead = 0.0;      ///< seconds of both passes of a stage beside its layers' times
  Synchronisation synchronisation = Synchronisation::Added;
  BoundaryCost boundary = BoundaryCost::Divided;
  bool communication = true;  ///< whether transfers between stages take time
  bool straight = false;      ///< whether every stage has only one device
  bool use_fewer = false;     ///< whether devices of a level may be left idle
  /// The most replicas of a segment at a level.
  std::size_t most_replicas = std::numeric_limits<std::size_t>::max();
  /// Whether a segment has 1, 2, 4, 8 … replicas, so that those of neighbours take turns in numbers that divide.
  bool powers_of_two = false;
  double rounds_per_update = 1.0;  ///< among which a synchronisation is divided
  double exchanged_copies = 1.0;   ///< bytes that it all-reduces for each byte of parameters
  double solves = 1.0;             ///< how often the problem is solved, each time with other rounds
  const MemoryTest* memory = nullptr;
};

/// The segment (from, to] of states on `replicas` members of a level. At the innermost level it is a stage; otherwise
/// each member runs a pipeline of inner segments.
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

/// The best hierarchical pipeline, by PipeDream's dynamic program.
///
/// The state is (K, J, r) at each level: A(K..J, r) is the least possible largest time of a stage or boundary if the
/// layers of the segment (K, J] run as a pipeline on r members of the level. T_1(K..J) = C_J - C_K is the time of the
/// segment on one device, and T_{L+1}(K..J) = A_L(K..J, M_L) its time on all members of a level, which form one member
/// of the next level. At a level of M members and bandwidth B (beside O that of boundary tensors), whose members have w
/// members of the level below,
///   A(K..J, r) = min of [T(K..J) + (4 (r-1) Par / (B r)) / w] / r        one stage on r members
///                and over K ⊂ k ⊂ J, q < r of the largest of A(K..k, r - q),
///                    [T(k..J) + 4 (q-1) Par / (B q)] / q, 2 O_k / (B q) and, unless J ends the model, 2 O_J / (B q).
/// With overlapped synchronisation both sums in brackets are maxima; with whole boundaries their q is 1. If a plan
/// updates after R rounds, both terms with Par are divided by R (ours).
/// For a fixed K, J goes up, because A(K..J, ·) needs only A(K..k, ·) of smaller sets k. Levels go from the innermost
/// to the outermost one; only there K is fixed. The stages are found by computing the rows of a segment once more and
/// taking, from the last stage back, the first (k, q) that gives the smallest value.
/// **Requires** that the memory test, if there is one, is made for these states.
/// **Cost** `transitions` of about 0.2 ns each; memory O(states²) for every level but the outermost, and O(states · M)
/// there.
/// **Source** PipeDream (SOSP 2019), optimizer_graph_hierarchical.py. Here k is always between K and J; the original
/// does not require that at inner levels (no recorded result depends on it).
[[nodiscard]] Answer optimize(const DownSets& states, const Settings& settings);

/// An upper bound of the number of triples (segment, k, q) that `optimize` examines in all solves; it counts every
/// smaller set as a subset.
[[nodiscard]] double transitions(std::size_t state_count, const Settings& settings);
inline constexpr double kTransitionTime = 0.2;  ///< nanoseconds, about

/// The value that the recurrence gives to the segments of a level: the largest time of a stage or boundary.
[[nodiscard]] double period_of(const DownSets& states, const Settings& settings, const std::vector<Segment>& segments);

/// The time of pure data parallelism: t ← (t + 4 (M-1) Par / (B M w)) / M for each level, from t = C of the whole
/// model. With overlapped synchronisation the sum is a maximum. With R rounds for each update the second term is
/// divided by R.
[[nodiscard]] double data_parallel_time(const DownSets& states, const Settings& settings);

}  // namespace stagecraft::pipedream
