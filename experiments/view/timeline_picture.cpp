#include "experiments/view/timeline_picture.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace stagecraft {
namespace {

constexpr double kLeastColumnsOfUnit = 2.0;

/// Sets begin and end of the picture: the last iteration, or the whole run if no barriers mark iterations.
void find_extent(const Timeline& timeline, Picture& picture) {
  std::vector<Seconds> barriers;
  for (const TimelineEntry& entry : timeline) {
    picture.run_end = std::max(picture.run_end, entry.end);
    if (entry.kind == OpKind::Barrier) barriers.push_back(entry.end);
  }
  picture.end = picture.run_end;
  std::ranges::sort(barriers);
  // Only if the last barrier is the end of the run do barriers mark iterations. An asynchronous run goes on after its
  // barriers and is drawn whole.
  if (barriers.size() > 1 && barriers.back() >= picture.end) picture.begin = barriers[barriers.size() - 2];
}

void sort_by_start(RowEntries& entries) {
  std::ranges::sort(entries, {}, [](const TimelineEntry* entry) { return std::pair(entry->start, entry->id); });
}

void sort_rows(Picture& picture) {
  for (auto& [place, entries] : picture.computations) sort_by_start(entries);
  for (auto& [ends, entries] : picture.transfers) sort_by_start(entries);
  for (auto& [place, stages] : picture.stages) {
    std::ranges::sort(stages);
    picture.names_stages = picture.names_stages || stages.size() > 1;
  }
}

/// Whether every computation starts and ends at a multiple of `unit`.
bool all_fall_on(const Picture& picture, Seconds unit) {
  const auto is_multiple = [&](Seconds time) {
    const double exact = (time - picture.begin) / unit;
    return std::abs(exact - std::round(exact)) < 1e-6 * std::max(1.0, exact);
  };
  return std::ranges::all_of(picture.computations, [&](const auto& row) {
    return std::ranges::all_of(
        row.second, [&](const TimelineEntry* entry) { return is_multiple(entry->start) && is_multiple(entry->end); });
  });
}

/// The part of a column that each kind of operation takes; the last one is that in which nothing runs.
using ColumnShare = std::array<double, kSigns.size() + 1>;

constexpr double kLeastShare = 1e-6;

std::size_t index_of(OpKind kind) {
  return static_cast<std::size_t>(std::ranges::find(kSigns, kind, &Sign::kind) - kSigns.begin());
}

/// The letters of columns in turn: of what happens in a column, the one that has had the fewest columns for its time.
class Letters {
 public:
  char next(const ColumnShare& share) {
    for (std::size_t i = 0; i < share.size(); ++i) due_[i] += share[i];
    std::size_t chosen = kSigns.size();
    for (std::size_t i = 0; i < share.size(); ++i) {
      const bool is_better = share[chosen] < kLeastShare || due_[i] > due_[chosen];
      if (share[i] >= kLeastShare && is_better) chosen = i;
    }
    due_[chosen] -= 1.0;
    return chosen < kSigns.size() ? kSigns[chosen].letter : '.';
  }

 private:
  ColumnShare due_{};  ///< columns that each kind should have had, less those that it has had
};

}  // namespace

const Sign* sign_of(OpKind kind) {
  const std::size_t index = index_of(kind);
  return index == kSigns.size() ? nullptr : &kSigns[index];
}

std::size_t Picture::most_computations() const {
  std::size_t most = 0;
  for (const auto& [place, entries] : computations) most = std::max(most, entries.size());
  return most;
}

Picture take_picture(const Timeline& timeline, const Platform& platform, const std::optional<TimeRange>& window) {
  Picture picture;
  find_extent(timeline, picture);
  if (window) {
    picture.begin = window->begin;
    picture.end = window->end;
    picture.axis_begin = window->begin;
  }
  for (const TimelineEntry& entry : timeline) {
    if (entry.end <= entry.start || sign_of(entry.kind) == nullptr) continue;
    const bool is_drawn = entry.end > picture.begin && entry.start < picture.end;
    if (!is_compute(entry.kind)) {
      if (is_drawn) picture.transfers[ends_of(platform, entry.from, entry.to, entry.leg)].push_back(&entry);
      continue;
    }
    RowEntries& row = picture.computations[entry.from];  // also of a device that is idle in this part of the run
    if (is_drawn) row.push_back(&entry);
    std::vector<StageId>& stages = picture.stages[entry.from];
    if (!entry.stage.is_none() && std::ranges::find(stages, entry.stage) == stages.end()) stages.push_back(entry.stage);
  }
  sort_rows(picture);
  return picture;
}

std::size_t Scale::at(Seconds time) const {
  const double exact = std::floor((time - begin) / column + 0.5);
  return static_cast<std::size_t>(std::clamp(exact, 0.0, static_cast<double>(columns)));
}

Scale choose_scale(const Picture& picture, std::size_t columns) {
  const Seconds length = picture.length();
  Seconds shortest = length;
  for (const auto& [place, entries] : picture.computations) {
    for (const TimelineEntry* entry : entries) shortest = std::min(shortest, entry->end - entry->start);
  }
  for (int part = 1; part <= 4; ++part) {
    const Seconds unit = shortest / part;
    const auto per_unit = std::floor(static_cast<double>(columns) / (length / unit) + 1e-6);
    if (per_unit * part < kLeastColumnsOfUnit || !all_fall_on(picture, unit)) continue;
    const Seconds column = unit / per_unit;
    return {picture.begin, column, static_cast<std::size_t>(std::ceil(length / column - 1e-6))};
  }
  return {picture.begin, length / static_cast<double>(columns), columns};
}

std::string folded_cells(const RowEntries& entries, const Scale& scale) {
  std::vector<ColumnShare> shares(scale.columns, ColumnShare{});
  const auto last = static_cast<double>(scale.columns);
  double covered = 0.0;  // in columns
  for (const TimelineEntry* entry : entries) {
    double from = std::max(covered, (entry->start - scale.begin) / scale.column);
    const double to = std::min(last, (entry->end - scale.begin) / scale.column);
    covered = std::max(covered, to);
    while (from < to) {
      const double next = std::min(to, std::floor(from) + 1.0);
      shares[static_cast<std::size_t>(from)][index_of(entry->kind)] += next - from;
      from = next;
    }
  }
  std::string cells;
  Letters letters;
  for (ColumnShare& share : shares) {
    share.back() = std::max(0.0, 1.0 - std::accumulate(share.begin(), share.end(), 0.0));
    cells += letters.next(share);
  }
  return cells;
}

}  // namespace stagecraft
