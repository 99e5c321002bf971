#pragma once

#include "experiments/study/result_table.hpp"

#include <string>
#include <vector>

namespace stagecraft {

/// A table of a database.
struct DatabaseTable {
  std::string name;
  ResultTable content;
  std::string primary_key;  ///< one of its columns
};

/// Writes a SQLite file with these tables in one transaction, to a temporary file beside it that is then renamed. Rows
/// are inserted in their order, so equal tables give files with equal dumps. Truth values become 1 and 0, lists and
/// records become JSON texts. No lock is taken, because no other process knows the new file; so it works on network
/// file systems.
/// **Throws** InputError if the file cannot be written; an old file of that name is then unchanged.
void write_database(const std::string& path, const std::vector<DatabaseTable>& tables);

}  // namespace stagecraft
