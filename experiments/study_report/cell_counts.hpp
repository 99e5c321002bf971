#pragma once

#include "experiments/study/row.hpp"

#include <cstddef>
#include <map>

namespace stagecraft {

/// How many cells ended with each status.
struct CellCounts {
  std::map<CellStatus, std::size_t> ended;  ///< statuses that occur
  std::size_t not_run = 0;                  ///< cells without a row yet

  [[nodiscard]] std::size_t of(CellStatus status) const;
  [[nodiscard]] std::size_t total() const;
  /// Counts one more cell; null means that it has no row yet.
  void add(const Row* row);
};

}  // namespace stagecraft
