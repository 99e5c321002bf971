#include "experiments/study_report/fastest_section.hpp"

#include "experiments/study_report/study_words.hpp"
#include "experiments/view/table.hpp"
#include "sim/base/short_number.hpp"

#include <algorithm>
#include <functional>
#include <string>
#include <vector>

namespace stagecraft {
namespace {

constexpr std::size_t kFastest = 10;

struct Place {
  const StudyGroup* group = nullptr;
  const StudyLine* line = nullptr;
  [[nodiscard]] double throughput() const { return *line->throughput; }
};

bool is_ok(const StudyLine& line) {
  const auto ended = line.counts.ended.find(CellStatus::Ok);
  return line.throughput && line.counts.not_run == 0 && line.counts.ended.size() == 1 &&
         ended != line.counts.ended.end();
}

std::vector<Place> places_of(const StudySummary& summary) {
  std::vector<Place> places;
  for (const StudyGroup& group : summary.groups) {
    for (const StudyLine& line : group.lines) {
      if (is_ok(line)) places.push_back({&group, &line});
    }
  }
  std::ranges::stable_sort(places, std::greater<>(), &Place::throughput);
  return places;
}

std::vector<std::string> cells_of(const StudySummary& summary, const Place& place) {
  const StudyLine& line = *place.line;
  std::vector<std::string> cells{summary.contenders[line.contender].name};
  for (const auto& [key, value] : place.group->keys) cells.push_back(value_text(value));
  cells.push_back(line.configuration.empty() ? "-" : line.configuration);
  cells.push_back(short_number(*line.throughput));
  cells.push_back(line.bubble_ratio ? percent(*line.bubble_ratio) : "-");
  cells.push_back(line.peak_memory_bytes ? bytes_text(*line.peak_memory_bytes) : "-");
  return cells;
}

}  // namespace

std::optional<Section> fastest_section(const StudySummary& summary) {
  const bool has_one_model = std::ranges::count(summary.constant, "model", &Keys::value_type::first) > 0;
  if (!has_one_model || summary.groups.size() < 2) return std::nullopt;
  std::vector<Place> places = places_of(summary);
  if (places.size() <= kFastest) return std::nullopt;
  Section section;
  section.heading = "The " + std::to_string(kFastest) + " fastest of all cells";
  Table& table = section.table.emplace(Table{{"planner"}, {}, summary.differing.size() + 2});
  for (const std::string& key : summary.differing) table.header.push_back(short_key(key, summary.differing));
  table.header.insert(table.header.end(), {"replicas", "samples/s", "bubble", "peak memory"});
  places.resize(kFastest);
  for (const Place& place : places) table.rows.push_back(cells_of(summary, place));
  return section;
}

}  // namespace stagecraft
