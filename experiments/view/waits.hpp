#pragma once

#include "sim/model/timeline.hpp"

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace stagecraft {

/// What each operation of a recorded run waited for, by positions in its timeline.
///
/// An operation that a failure ended has several entries. They wait for the same operations, and others wait for the
/// last of them, which ran to its end. So has an operation of a group, one of each member, which run at the same time:
/// they wait for the same operations, and others wait for the first of them.
class Waits {
 public:
  static constexpr std::uint32_t kNone = ~std::uint32_t{0};
  /// Whether an operation waits only for its dependencies, or also for the one before it on its device or channel, and
  /// for its own run that a failure ended.
  enum class Of : std::uint8_t { Dependencies, DependenciesAndTurns };

  /// `record` must outlive this. **Cost** O(entries · log dependencies). **Requires** fewer than 2^32 - 1 entries.
  Waits(const RunRecord& record, Of what);

  /// The entries that had to end before this one could start, in ascending order.
  [[nodiscard]] std::span<const std::uint32_t> of(std::size_t entry) const;

  /// That of them which ended last; of several the youngest. `kNone` without any.
  [[nodiscard]] std::uint32_t last(std::size_t entry) const { return last_[entry]; }

  /// The chain of last waits back from the entry that ends last (of several the youngest), in the order of time: each
  /// entry waited for the one before it longer than for anything else. Empty for an empty run.
  [[nodiscard]] std::vector<std::uint32_t> critical_path() const;

 private:
  const Timeline& timeline_;
  std::vector<std::uint32_t> begins_;  ///< by entry: where its waits begin in `on_`; one more at the end
  std::vector<std::uint32_t> on_;
  std::vector<std::uint32_t> last_;
};

}  // namespace stagecraft
