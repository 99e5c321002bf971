#include "experiments/study_report/cell_counts.hpp"

namespace stagecraft {

std::size_t CellCounts::of(CellStatus status) const {
  const auto found = ended.find(status);
  return found == ended.end() ? 0 : found->second;
}

std::size_t CellCounts::total() const {
  std::size_t sum = not_run;
  for (const auto& [status, count] : ended) sum += count;
  return sum;
}

void CellCounts::add(const Row* row) {
  if (row == nullptr) {
    ++not_run;
  } else {
    ++ended[row->status];
  }
}

}  // namespace stagecraft
