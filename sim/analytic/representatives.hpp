#pragma once

#include "sim/model/replicas.hpp"

#include <cstdint>
#include <vector>

namespace stagecraft {

struct Plan;

/// Microbatches that stand for all of a run, so that a bound looks at few of them however long the run is.
///
/// Two microbatches are *alike* if the same replicas run them with the same memory actions. Their operations take as
/// long as each other and wait for the same, except after the last backward of a replica in an iteration, which the
/// exchange of gradients waits for. That one is near an end of the iteration as long as backwards run in the order of
/// their microbatches, or in the reverse order (`SampledRun::has_ends`); there every microbatch stands for itself. In
/// between, the first of its kind stands for the others.
class Representatives {
 public:
  /// Every microbatch stands for itself.
  explicit Representatives(std::int64_t microbatches) : begin_(microbatches), end_(microbatches) {}
  /// Those of an iteration.
  [[nodiscard]] static Representatives of_iteration(const Plan& plan, const Replicas& replicas);
  /// Those of an asynchronous run, not before `from` if there are later ones of their kind. What depends on updates
  /// repeats after `round` microbatches.
  [[nodiscard]] static Representatives of_run(const Plan& plan, const Replicas& replicas, std::int64_t from,
                                              std::int64_t round);

  [[nodiscard]] bool has(std::uint32_t microbatch) const {
    if (microbatch < begin_ || microbatch >= end_) return true;
    return microbatch <= last_ && first_[kind_of(microbatch)] == microbatch;
  }
  /// For how many of the first `microbatches` each kind stands.
  [[nodiscard]] std::vector<std::int64_t> counts(std::int64_t microbatches) const;
  /// The same of one representative, by the `counts` of that many microbatches.
  [[nodiscard]] std::int64_t count(std::uint32_t microbatch, const std::vector<std::int64_t>& counts) const {
    return microbatch < begin_ || microbatch >= end_ ? 1 : counts[kind_of(microbatch)];
  }

 private:
  Representatives(const Plan& plan, const Replicas& replicas, std::int64_t begin, std::int64_t end, std::int64_t round);
  [[nodiscard]] std::uint32_t kind_of(std::int64_t microbatch) const {
    return kind_of_[static_cast<std::size_t>(microbatch - begin_) % kind_of_.size()];
  }
  void take_first(std::int64_t from);

  std::int64_t begin_;  ///< the microbatches [begin, end) have representatives
  std::int64_t end_;
  std::vector<std::uint32_t> kind_of_;  ///< from `begin_` on, until kinds repeat
  std::vector<std::int64_t> first_;     ///< of each kind
  std::int64_t last_ = -1;              ///< the largest of them
};

}  // namespace stagecraft
