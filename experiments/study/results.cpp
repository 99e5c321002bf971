#include "experiments/study/results.hpp"

#include "experiments/study/shard.hpp"
#include "sim/base/error.hpp"
#include "sim/base/text.hpp"

#include <utility>

namespace stagecraft {

Results load_results(const std::vector<std::string>& folders) {
  Results results;
  results.manifest = read_manifest(folders.front());
  for (const std::string& folder : folders) {
    if (const auto reason = difference(results.manifest, read_manifest(folder))) {
      throw InputError(quote(folders.front()) + " and " + quote(folder) +
                       " hold results of different studies: " + *reason);
    }
  }
  ShardRows shards = read_shards(folders);
  for (std::size_t i = 0; i < results.manifest.cells.size(); ++i) {
    const auto found = shards.rows.find(results.manifest.cells[i].key);
    if (found != shards.rows.end()) results.rows.push_back({i, std::move(found->second)});
  }
  for (const std::string& shard : shards.torn_shards) {
    results.warnings.push_back(shard +
                               " has lines that are not rows, as happens when its writer is killed; they are left out");
  }
  return results;
}

}  // namespace stagecraft
