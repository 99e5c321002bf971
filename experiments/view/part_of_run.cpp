#include "experiments/view/part_of_run.hpp"

#include <map>
#include <utility>

namespace stagecraft {
namespace {

MemoryCourse memory_within(const MemoryCourse& course, const TimeRange& range) {
  std::map<std::pair<PlaceId, MemoryCategory>, Bytes> at_first;
  for (const MemoryChange& change : course) {
    if (change.at <= range.begin) at_first[{change.place, change.category}] += change.bytes;
  }
  MemoryCourse part;
  for (const auto& [of, bytes] : at_first) part.push_back({range.begin, of.first, of.second, bytes});
  for (const MemoryChange& change : course) {
    if (change.at > range.begin && change.at < range.end) part.push_back(change);
  }
  return part;
}

}  // namespace

RunRecord part_of(const RunRecord& record, const TimeRange& range) {
  return {part_of(record.timeline, range), memory_within(record.memory, range), record.dependencies, record.turns};
}

}  // namespace stagecraft
