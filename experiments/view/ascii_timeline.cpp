#include "experiments/view/ascii_timeline.hpp"

#include "sim/base/counted.hpp"
#include "sim/base/text.hpp"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <iterator>
#include <map>
#include <set>
#include <vector>

namespace stagecraft {
namespace {

constexpr std::size_t kUsualColumns = 100;
constexpr std::int64_t kMostColumns = 10'000;
constexpr std::size_t kLeastCells = 20;  ///< columns of a row, even if the terminal is narrower
constexpr std::size_t kColumnsPerComputation = 2;
constexpr std::size_t kTickDistance = 20;
constexpr std::size_t kMostTimelineRows = 64;

struct Sign {
  OpKind kind;
  char letter;
  const char* meaning;
};

/// Letters in the order of the legend.
constexpr auto kSigns = std::to_array<Sign>({
    {OpKind::Forward, 'F', "forward"},
    {OpKind::Backward, 'B', "backward"},
    {OpKind::BackwardInput, 'I', "input half of a backward"},
    {OpKind::BackwardWeight, 'W', "weight half of a backward"},
    {OpKind::ForwardBackward, 'P', "forward and backward as a pair"},
    {OpKind::Recompute, 'r', "recompute"},
    {OpKind::Update, 'U', "update"},
    {OpKind::Activation, 'A', "activation"},
    {OpKind::Gradient, 'G', "gradient"},
    {OpKind::AllReduce, 'R', "all-reduce"},
    {OpKind::SwapOut, 'O', "swap out"},
    {OpKind::SwapIn, 'N', "swap in"},
    {OpKind::Migration, 'M', "migration"},
});

const Sign* sign_of(OpKind kind) {
  const auto found = std::ranges::find(kSigns, kind, &Sign::kind);
  return found == kSigns.end() ? nullptr : &*found;
}

/// The mapping from time to columns.
struct Scale {
  Seconds begin;
  Seconds column;  ///< time that one column stands for
  std::size_t columns = 0;
  [[nodiscard]] std::size_t at(Seconds time) const {
    const double exact = (time - begin) / column;
    return std::min(columns, static_cast<std::size_t>(std::max(0.0, std::floor(exact + 0.5))));
  }
};

/// The part of a run that is drawn.
struct Picture {
  std::vector<TimelineEntry> computations;  ///< those that take time
  std::vector<TimelineEntry> transfers;
  Seconds begin;
  Seconds end;
  Seconds axis_begin;                              ///< the time that the axis shows at `begin`
  std::map<PlaceId, std::vector<StageId>> stages;  ///< for each device that computes, its stages in ascending order
  bool names_stages = false;                       ///< whether some device has several stages, so labels name them
  std::set<OpKind> drawn;
  std::size_t left_out = 0;  ///< computations shorter than a column
};

/// Sets begin and end of the picture: the last iteration, or the whole run if no barriers mark iterations.
void find_extent(const Timeline& timeline, Picture& picture) {
  for (const TimelineEntry& entry : timeline) picture.end = std::max(picture.end, entry.end);
  std::vector<Seconds> barriers;
  for (const TimelineEntry& entry : timeline) {
    if (entry.kind == OpKind::Barrier) barriers.push_back(entry.end);
  }
  std::ranges::sort(barriers);
  // Only if the last barrier is the end of the run do barriers mark iterations. An asynchronous run goes on after its
  // barriers and is drawn whole.
  if (barriers.size() > 1 && barriers.back() >= picture.end) picture.begin = barriers[barriers.size() - 2];
}

Picture take(const Timeline& timeline, const std::optional<TimeRange>& window) {
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
    if (is_drawn) (is_compute(entry.kind) ? picture.computations : picture.transfers).push_back(entry);
    if (!is_compute(entry.kind)) continue;
    std::vector<StageId>& stages = picture.stages[entry.from];  // also of a device that is idle in this part of the run
    if (!entry.stage.is_none() && std::ranges::find(stages, entry.stage) == stages.end()) stages.push_back(entry.stage);
  }
  for (auto& [place, stages] : picture.stages) {
    std::ranges::sort(stages);
    picture.names_stages = picture.names_stages || stages.size() > 1;
  }
  return picture;
}

/// Whether every computation starts and ends at a multiple of `unit`.
bool all_fall_on(const Picture& picture, Seconds unit) {
  const auto is_multiple = [&](Seconds time) {
    const double exact = (time - picture.begin) / unit;
    return std::abs(exact - std::round(exact)) < 1e-6 * std::max(1.0, exact);
  };
  return std::ranges::all_of(picture.computations, [&](const TimelineEntry& entry) {
    return is_multiple(entry.start) && is_multiple(entry.end);
  });
}

/// Chooses the time of a column. If all computations start and end at multiples of a unit (the shortest computation, or
/// half, a third or a quarter of it), a unit gets a whole number of columns, so that every computation is drawn with
/// its exact length; the picture may then be a little narrower than `columns`. Otherwise the picture uses all columns.
Scale choose_scale(const Picture& picture, std::size_t columns) {
  const Seconds length = picture.end - picture.begin;
  Seconds shortest = length;
  for (const TimelineEntry& entry : picture.computations) shortest = std::min(shortest, entry.end - entry.start);
  for (int part = 1; part <= 4; ++part) {
    const Seconds unit = shortest / part;
    const auto per_unit = std::floor(static_cast<double>(columns) / (length / unit) + 1e-6);
    if (per_unit * part < kColumnsPerComputation || !all_fall_on(picture, unit)) continue;
    const Seconds column = unit / per_unit;
    return {picture.begin, column, static_cast<std::size_t>(std::ceil(length / column - 1e-6))};
  }
  return {picture.begin, length / static_cast<double>(columns), columns};
}

/// The label of an entry in `room` columns: its letter, as many of the last digits of the microbatch as fit, and the
/// stage (`a`, `b`, ...) if there is still a column for it.
std::string label_of(const Picture& picture, const TimelineEntry& entry, std::size_t room) {
  std::string letter(1, sign_of(entry.kind)->letter);
  const bool has_number =
      entry.kind != OpKind::Update && entry.kind != OpKind::AllReduce && entry.kind != OpKind::Migration;
  if (!has_number || room < 2) return letter;
  std::string number = std::to_string(entry.microbatch);
  if (number.size() + 1 > room) return letter + number.substr(number.size() + 1 - room);
  if (picture.names_stages && is_compute(entry.kind) && number.size() + 2 <= room) {
    const std::vector<StageId>& stages = picture.stages.at(entry.from);
    const auto position = std::ranges::find(stages, entry.stage) - stages.begin();
    number += static_cast<char>(position < 26 ? 'a' + position : '?');
  }
  return letter + number;
}

/// Writes an entry into columns of its row.
void paint(std::string& row, const Picture& picture, const TimelineEntry& entry, std::size_t begin, std::size_t end) {
  std::string text = label_of(picture, entry, end - begin);
  text.resize(end - begin, entry.aborted ? '!' : '-');
  row.replace(begin, end - begin, text);
}

struct TimelineRow {
  std::string name;
  std::string cells;
};

std::vector<TimelineRow> device_rows(Picture& picture, const Platform& platform, const Scale& scale) {
  std::vector<TimelineRow> rows;
  for (const auto& [place, stages] : picture.stages) {
    rows.push_back({platform.place_name(place), std::string(scale.columns, '.')});
    for (const TimelineEntry& entry : picture.computations) {
      if (entry.from != place) continue;
      const std::size_t begin = scale.at(entry.start);
      const std::size_t end = scale.at(entry.end);
      if (begin == end) {
        ++picture.left_out;
        continue;
      }
      paint(rows.back().cells, picture, entry, begin, end);
      picture.drawn.insert(entry.kind);
    }
  }
  return rows;
}

/// A row for each pair of places; transfers that overlap in time go to further rows of the pair. Each transfer takes at
/// least one column.
std::vector<TimelineRow> transfer_rows(Picture& picture, const Platform& platform, const Scale& scale) {
  std::map<std::pair<PlaceId, PlaceId>, std::vector<const TimelineEntry*>> pairs;
  for (const TimelineEntry& entry : picture.transfers) {
    pairs[ends_of(platform, entry.from, entry.to, entry.leg)].push_back(&entry);
  }
  std::vector<TimelineRow> rows;
  for (auto& [ends, entries] : pairs) {
    std::ranges::sort(entries, {}, [](const TimelineEntry* entry) { return std::pair(entry->start, entry->id); });
    const std::size_t first = rows.size();
    std::vector<std::size_t> free_from;  // the first free column of each row of this pair
    for (const TimelineEntry* entry : entries) {
      const std::size_t begin = std::min(scale.at(entry->start), scale.columns - 1);
      const std::size_t end = std::max(scale.at(entry->end), begin + 1);
      const auto row = std::ranges::find_if(free_from, [&](std::size_t column) { return column <= begin; });
      const auto index = static_cast<std::size_t>(row - free_from.begin());
      if (row == free_from.end()) {
        const std::string name = platform.place_name(ends.first) + "->" + platform.place_name(ends.second);
        rows.push_back({index == 0 ? name : "", std::string(scale.columns, '.')});
        free_from.push_back(0);
      }
      free_from[index] = end;
      paint(rows[first + index].cells, picture, *entry, begin, end);
      picture.drawn.insert(entry->kind);
    }
  }
  return rows;
}

/// The time axis: every kTickDistance columns the time at that column. If it begins later than 0, the further times are
/// counted from there: `|2 s    |+40 ms`.
std::string axis(const Scale& scale, Seconds begin) {
  std::string line;
  for (std::size_t column = 0; column < scale.columns; column += kTickDistance) {
    const Seconds since = scale.column * static_cast<double>(column);
    const bool is_later = begin > Seconds(0) && column > 0;
    const std::string time = (is_later ? "+" : "") + format_human_seconds(is_later ? since : begin + since);
    if (column + time.size() + 1 > scale.columns && column > 0) break;
    line.resize(column, ' ');
    line += '|' + time;
  }
  return line;
}

std::string legend(const Picture& picture, const Scale& scale) {
  std::string text;
  for (const Sign& sign : kSigns) {
    if (picture.drawn.contains(sign.kind)) text += std::string(1, sign.letter) + " " + sign.meaning + ", ";
  }
  text += "number: microbatch (its last digits)";
  if (picture.names_stages) text += ", a, b, ...: stages of the device";
  text += ", . idle; a column is " + format_human_seconds(scale.column) + "\n";
  if (picture.left_out > 0) {
    text += counted(picture.left_out, "computation") + " shorter than a column: not drawn\n";
  }
  return text;
}

std::string lines(const std::vector<TimelineRow>& rows, const Scale& scale, Seconds axis_begin) {
  std::size_t width = 0;
  for (const TimelineRow& row : rows) width = std::max(width, row.name.size());
  std::string text;
  for (const TimelineRow& row : rows)
    text += row.name + std::string(width - row.name.size() + 1, ' ') + row.cells + "\n";
  return text + std::string(width + 1, ' ') + axis(scale, axis_begin) + "\n";
}

std::size_t name_width(const Picture& picture, const Platform& platform, bool transfers) {
  std::size_t width = 0;
  for (const auto& [place, stages] : picture.stages) width = std::max(width, platform.place_name(place).size());
  if (!transfers) return width;
  for (const TimelineEntry& entry : picture.transfers) {
    const auto [from, to] = ends_of(platform, entry.from, entry.to, entry.leg);
    width = std::max(width, platform.place_name(from).size() + platform.place_name(to).size() + 2);
  }
  return width;
}

/// The largest number of computations on one device.
std::size_t most_computations(const Picture& picture) {
  std::map<PlaceId, std::size_t> counts;
  std::size_t most = 0;
  for (const TimelineEntry& entry : picture.computations) most = std::max(most, ++counts[entry.from]);
  return most;
}

}  // namespace

std::string ascii_timeline(const Timeline& timeline, const Platform& platform, const PictureOptions& options) {
  Picture picture = take(timeline, options.window);
  if (picture.computations.empty()) {
    return std::string("there is nothing to draw: no computation takes any time") +
           (options.window ? " in this part of the run\n" : "\n");
  }
  if (picture.stages.size() > kMostTimelineRows) {
    return "too large to draw: " + counted(picture.stages.size(), "device") + "; at most " +
           std::to_string(kMostTimelineRows) + " can be drawn\n";
  }
  const std::size_t names = name_width(picture, platform, options.transfers) + 1;
  const std::size_t cells = std::max(options.columns, names + kLeastCells) - names;
  const std::size_t most = most_computations(picture);
  if (most * kColumnsPerComputation > cells) {
    return "too large to draw: a device runs " + counted(most, "computation") + ", and " +
           counted(options.columns, "column") + " are enough for " + std::to_string(cells / kColumnsPerComputation) +
           "; draw a part with --timeline-window FROM..TO, or use fewer microbatches, a wider terminal or COLUMNS\n";
  }
  const Scale scale = choose_scale(picture, cells);
  std::vector<TimelineRow> rows = device_rows(picture, platform, scale);
  if (options.transfers) std::ranges::move(transfer_rows(picture, platform, scale), std::back_inserter(rows));
  return lines(rows, scale, picture.axis_begin) + legend(picture, scale);
}

Timeline part_of(const Timeline& timeline, const TimeRange& range) {
  Timeline part;
  std::ranges::copy_if(timeline, std::back_inserter(part),
                       [&](const TimelineEntry& entry) { return entry.start < range.end && entry.end >= range.begin; });
  return part;
}

std::size_t terminal_columns() {
  winsize size{};
  const bool known = isatty(STDOUT_FILENO) == 1 && ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0;
  if (known) return size.ws_col;
  const char* given = std::getenv("COLUMNS");  // NOLINT(concurrency-mt-unsafe): no threads
  const Parsed<std::int64_t> columns = parse_count(given != nullptr ? given : "");
  const bool is_usable = columns && *columns.value > 0 && *columns.value <= kMostColumns;
  return is_usable ? static_cast<std::size_t>(*columns.value) : kUsualColumns;
}

}  // namespace stagecraft
