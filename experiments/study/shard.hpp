#pragma once

#include "experiments/study/row.hpp"

#include <map>
#include <string>
#include <vector>

namespace stagecraft {

/// Appends rows to a new file below `FOLDER/shards`; no two writers share one, on whatever machines they run. A row is
/// one line, written at once: when the writer dies, at most its last line is torn.
class ShardWriter {
 public:
  /// `prefix` tells people who wrote the shard. **Throws** InputError if no file can be made.
  ShardWriter(const std::string& folder, const std::string& prefix);
  ~ShardWriter();
  ShardWriter(const ShardWriter&) = delete;
  ShardWriter& operator=(const ShardWriter&) = delete;
  ShardWriter(ShardWriter&&) = delete;
  ShardWriter& operator=(ShardWriter&&) = delete;

  /// Appends what `to_line` gave. **Throws** InputError if it cannot be written.
  void append(std::string line);

 private:
  std::string path_;
  int descriptor_ = -1;
};

/// The rows of all shards below some folders.
struct ShardRows {
  std::map<std::string, Row> rows;       ///< by key
  std::vector<std::string> torn_shards;  ///< files with lines that are no rows, left out
};

/// Where a key comes twice, rows that depend on the machine yield to others, else the first stays.
/// **Throws** InternalError if two rows that depend on no machine differ in more than their timings: the same cell gave
/// two results. **Throws** InputError for shards that cannot be read.
[[nodiscard]] ShardRows read_shards(const std::vector<std::string>& folders);

}  // namespace stagecraft
