#pragma once

#include "sim/base/quantity.hpp"

#include <algorithm>
#include <bit>
#include <cstddef>
#include <utility>
#include <vector>

namespace stagecraft {

/// The largest value of any run of values: a sparse table, two of whose entries cover any run.
class RunMaxima {
 public:
  /// **Cost** O(values log values).
  explicit RunMaxima(std::vector<Bytes> values = {}) : rows_{std::move(values)} {
    for (std::size_t length = 2; length <= rows_[0].size(); length *= 2) {
      const std::vector<Bytes>& half = rows_.back();
      std::vector<Bytes> row(rows_[0].size() - length + 1);
      for (std::size_t i = 0; i < row.size(); ++i) row[i] = std::max(half[i], half[i + length / 2]);
      rows_.push_back(std::move(row));
    }
  }

  /// **Requires** begin < end, and no more values than there are. **Cost** O(1).
  [[nodiscard]] Bytes operator()(std::size_t begin, std::size_t end) const {
    const auto row = static_cast<std::size_t>(std::bit_width(end - begin) - 1);
    return std::max(rows_[row][begin], rows_[row][end - (std::size_t{1} << row)]);
  }

 private:
  std::vector<std::vector<Bytes>> rows_;  ///< [i][l]: of 2^i values from l on
};

}  // namespace stagecraft
