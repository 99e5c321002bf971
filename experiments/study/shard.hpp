#pragma once

#include "experiments/study/row.hpp"

#include <map>
#include <string>
#include <vector>

namespace stagecraft {

/// Appends rows to a new file below `FOLDER/shards`. Each writer has a file of its own, on whatever machine it runs. A
/// row is one line, written at once: if the writer dies, only its last line can be incomplete.
class ShardWriter {
 public:
  /// `prefix` begins the file's name and shows who wrote it. **Throws** InputError if no file can be created.
  ShardWriter(const std::string& folder, const std::string& prefix);
  ~ShardWriter();
  ShardWriter(const ShardWriter&) = delete;
  ShardWriter& operator=(const ShardWriter&) = delete;
  ShardWriter(ShardWriter&&) = delete;
  ShardWriter& operator=(ShardWriter&&) = delete;

  /// Appends a line made by `to_line`. **Throws** InputError if it cannot be written.
  void append(std::string line);

 private:
  std::string path_;
  int descriptor_ = -1;
};

/// The rows of all shards below some folders.
struct ShardRows {
  std::map<std::string, Row> rows;       ///< by key
  std::vector<std::string> torn_shards;  ///< files with lines that are not rows; such lines are left out
};

/// If a key has several rows, one that does not depend on the machine (`depends_on_machine`) is kept, and otherwise the
/// first one.
/// **Throws** InternalError if two rows of a key that do not depend on the machine differ in more than their timings,
/// because then the same cell gave two results. **Throws** InputError for shards that cannot be read.
[[nodiscard]] ShardRows read_shards(const std::vector<std::string>& folders);

}  // namespace stagecraft
