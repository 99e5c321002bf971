#include "experiments/view/waits.hpp"

#include <algorithm>
#include <cstddef>
#include <utility>

namespace stagecraft {
namespace {

/// Orders entries by their ends, and those of one date by age.
bool ends_before(const TimelineEntry& a, const TimelineEntry& b) {
  return std::pair(a.end, a.id) < std::pair(b.end, b.id);
}

/// Whether two entries of one operation are those of two members of a group, which run it together.
bool run_together(const TimelineEntry& a, const TimelineEntry& b) {
  return a.start == b.start && a.aborted == b.aborted;
}

/// By operation, the first entry of its last run. `earlier`, by entry: that of the run that a failure ended before.
std::vector<std::uint32_t> entries_by_op(const Timeline& timeline, std::vector<std::uint32_t>& earlier) {
  std::vector<std::uint32_t> entries;
  earlier.assign(timeline.size(), Waits::kNone);
  for (std::size_t i = 0; i < timeline.size(); ++i) {
    const std::uint64_t op = timeline[i].id.value();
    if (op >= entries.size()) entries.resize(op + 1, Waits::kNone);
    const std::uint32_t known = entries[op];
    const bool is_of_member = known != Waits::kNone && run_together(timeline[known], timeline[i]);
    earlier[i] = is_of_member ? earlier[known] : std::exchange(entries[op], static_cast<std::uint32_t>(i));
  }
  return entries;
}

}  // namespace

Waits::Waits(const RunRecord& record, Of what) : timeline_(record.timeline), last_(record.timeline.size(), kNone) {
  std::vector<std::uint32_t> earlier;
  const std::vector<std::uint32_t> entries = entries_by_op(timeline_, earlier);
  std::vector<Dependency> turns;
  if (what == Of::DependenciesAndTurns) turns = record.turns;
  std::ranges::stable_sort(turns, {}, &Dependency::op);
  begins_.reserve(timeline_.size() + 1);
  begins_.push_back(0);
  for (std::size_t i = 0; i < timeline_.size(); ++i) {
    const auto add = [&](const std::vector<Dependency>& waits) {
      for (const Dependency& each : std::ranges::equal_range(waits, timeline_[i].id, {}, &Dependency::op)) {
        const std::uint64_t on = each.on.value();
        if (on < entries.size() && entries[on] != kNone)
          on_.push_back(entries[on]);  // else it was given up before it ran
      }
    };
    const auto begin = static_cast<std::ptrdiff_t>(on_.size());
    add(record.dependencies);
    add(turns);
    if (what == Of::DependenciesAndTurns && earlier[i] != kNone) on_.push_back(earlier[i]);
    std::ranges::sort(on_.begin() + begin, on_.end());
    on_.erase(std::unique(on_.begin() + begin, on_.end()), on_.end());
    for (auto on = on_.begin() + begin; on != on_.end(); ++on) {
      if (last_[i] == kNone || ends_before(timeline_[last_[i]], timeline_[*on])) last_[i] = *on;
    }
    begins_.push_back(static_cast<std::uint32_t>(on_.size()));
  }
}

std::span<const std::uint32_t> Waits::of(std::size_t entry) const {
  return std::span(on_).subspan(begins_[entry], begins_[entry + 1] - begins_[entry]);
}

std::vector<std::uint32_t> Waits::critical_path() const {
  std::vector<std::uint32_t> path;
  if (timeline_.empty()) return path;
  const auto end = std::ranges::max_element(timeline_, ends_before);
  for (auto at = static_cast<std::uint32_t>(end - timeline_.begin()); at != kNone; at = last_[at]) path.push_back(at);
  std::ranges::reverse(path);
  return path;
}

}  // namespace stagecraft
