#pragma once

#include "experiments/study/result_table.hpp"

#include <string>
#include <utility>
#include <vector>

namespace stagecraft {

/// A table of a database.
struct DatabaseTable {
  std::string name;
  ResultTable content;
  std::string primary_key;  ///< one of its columns
};

/// Writes a SQLite file with these tables in one transaction: beside its place first, then renamed. Rows are inserted
/// in their order, so equal tables give files whose dumps are equal. Truth values become 1 and 0, lists and records
/// JSON texts. Locks nothing, since nobody else knows the new file: works on network file systems.
/// **Throws** InputError where the file cannot be written; then an old file of that name is as it was.
void write_database(const std::string& path, const std::vector<DatabaseTable>& tables);

}  // namespace stagecraft
