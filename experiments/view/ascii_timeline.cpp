#include "experiments/view/ascii_timeline.hpp"

#include "experiments/view/terminal_colours.hpp"
#include "experiments/view/text_width.hpp"
#include "experiments/view/timeline_picture.hpp"
#include "sim/base/counted.hpp"
#include "sim/base/text.hpp"

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <iterator>
#include <set>
#include <vector>

namespace stagecraft {
namespace {

constexpr std::size_t kUsualColumns = 100;
constexpr std::int64_t kMostColumns = 10'000;
constexpr std::size_t kLeastCells = 20;  ///< columns for time that names leave where the line has them
constexpr std::size_t kColumnsPerComputation = 2;
constexpr std::size_t kTickDistance = 20;
constexpr std::size_t kMostTimelineRows = 40;

/// Columns of a row.
struct Cells {
  std::string text;
  std::string letters;  ///< for each column the letter of the kind of operation, or a dot
  explicit Cells(std::size_t columns) : text(columns, '.'), letters(columns, '.') {}
  explicit Cells(std::string folded) : text(std::move(folded)), letters(text) {}
};

struct TimelineRow {
  std::string name;
  Cells cells;
  std::size_t places = 1;  ///< devices, or pairs of them, that the row stands for; 0 for the further rows of a pair
};

/// What is drawn, and how.
struct Drawing {
  const Picture& picture;
  const Platform& platform;
  Scale scale;
  std::size_t columns = 0;     ///< the longest line
  bool folds_columns = false;  ///< computations are too short to show, and those of a column take turns
  std::set<char> letters = {};
  std::size_t left_out = 0;  ///< computations shorter than a column
  bool joins_rows = false;   ///< whether some row stands for several devices
};

/// The label of an entry in `room` columns: its letter, as many of the last digits of the microbatch as fit, and the
/// stage (`a`, `b`, ...) if there is still a column for it.
std::string label_of(const Picture& picture, const TimelineEntry& entry, std::size_t room) {
  std::string letter(1, sign_of(entry.kind)->letter);
  const bool has_number = entry.kind != OpKind::Update && !is_ring_flow(entry.kind) && entry.kind != OpKind::Migration;
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
void paint(Cells& row, const Picture& picture, const TimelineEntry& entry, std::size_t begin, std::size_t end) {
  std::string text = label_of(picture, entry, end - begin);
  text.resize(end - begin, entry.aborted ? '!' : '-');
  row.text.replace(begin, end - begin, text);
  row.letters.replace(begin, end - begin, end - begin, sign_of(entry.kind)->letter);
}

Cells fold(Drawing& drawing, const RowEntries& entries) {
  Cells cells(folded_cells(entries, drawing.scale));
  drawing.letters.insert(cells.letters.begin(), cells.letters.end());
  return cells;
}

Cells cells_of(Drawing& drawing, const RowEntries& entries) {
  if (drawing.folds_columns) return fold(drawing, entries);
  Cells cells(drawing.scale.columns);
  for (const TimelineEntry* entry : entries) {
    const std::size_t begin = drawing.scale.at(entry->start);
    const std::size_t end = drawing.scale.at(entry->end);
    if (begin == end) {
      ++drawing.left_out;
      continue;
    }
    paint(cells, drawing.picture, *entry, begin, end);
    drawing.letters.insert(sign_of(entry->kind)->letter);
  }
  return cells;
}

/// Where there are too many devices, those that follow one another and look the same share a row, such as the replicas
/// of a stage.
std::vector<TimelineRow> device_rows(Drawing& drawing) {
  const bool joins = drawing.picture.computations.size() > kMostTimelineRows;
  std::vector<TimelineRow> rows;
  for (const auto& [place, entries] : drawing.picture.computations) {
    Cells cells = cells_of(drawing, entries);
    if (joins && !rows.empty() && rows.back().cells.text == cells.text) {
      ++rows.back().places;
    } else {
      rows.push_back({drawing.platform.place_name(place), std::move(cells)});
    }
  }
  for (TimelineRow& row : rows) {
    if (row.places == 1) continue;
    row.name += " +" + std::to_string(row.places - 1);
    drawing.joins_rows = true;
  }
  return rows;
}

std::string name_of_pair(const Platform& platform, const std::pair<PlaceId, PlaceId>& ends) {
  return platform.place_name(ends.first) + "->" + platform.place_name(ends.second);
}

/// The rows of a pair of places. Transfers that overlap in time go to further rows. Each takes at least one column.
std::vector<TimelineRow> pair_rows(Drawing& drawing, const std::string& name, const RowEntries& entries) {
  const std::size_t columns = drawing.scale.columns;
  std::vector<TimelineRow> rows;
  std::vector<std::size_t> free_from;  // the first free column of each row
  for (const TimelineEntry* entry : entries) {
    const std::size_t begin = std::min(drawing.scale.at(entry->start), columns - 1);
    const std::size_t end = std::max(drawing.scale.at(entry->end), begin + 1);
    const auto row = std::ranges::find_if(free_from, [&](std::size_t column) { return column <= begin; });
    const auto index = static_cast<std::size_t>(row - free_from.begin());
    if (row == free_from.end()) {
      rows.push_back({index == 0 ? name : "", Cells(columns), index == 0 ? 1U : 0U});
      free_from.push_back(0);
    }
    free_from[index] = end;
    paint(rows[index].cells, drawing.picture, *entry, begin, end);
    drawing.letters.insert(sign_of(entry->kind)->letter);
  }
  return rows;
}

std::vector<TimelineRow> transfer_rows(Drawing& drawing) {
  const bool folds = drawing.folds_columns || drawing.picture.transfers.size() > kMostTimelineRows;
  std::vector<TimelineRow> rows;
  for (const auto& [ends, entries] : drawing.picture.transfers) {
    const std::string name = name_of_pair(drawing.platform, ends);
    if (folds) {
      rows.push_back({name, fold(drawing, entries)});
    } else {
      std::ranges::move(pair_rows(drawing, name, entries), std::back_inserter(rows));
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
    if (column + time.size() + 1 > scale.columns) break;
    line.resize(column, ' ');
    line += '|' + time;
  }
  return line;
}

/// The part of the run that is drawn, with its times in the run.
std::string part_text(const Picture& picture, bool has_window) {
  const std::string times = format_human_seconds(picture.begin) + ".." + format_human_seconds(picture.end);
  if (has_window) return "drawn: " + times + " of a run of " + format_human_seconds(picture.run_end);
  return "drawn: " + std::string(picture.begin > Seconds(0) ? "the last iteration, " : "the whole run, ") + times +
         "; --timeline-window FROM..TO draws a part";
}

std::string legend(const Drawing& drawing, bool has_window) {
  std::string text;
  for (const Sign& sign : kSigns) {
    if (drawing.letters.contains(sign.letter)) text += std::string(1, sign.letter) + " " + sign.meaning + ", ";
  }
  if (!drawing.folds_columns) {
    text += "number: microbatch (its last digits), ";
    if (drawing.picture.names_stages) text += "a, b, ...: stages of the device, ";
  }
  if (drawing.joins_rows) text += "+N: N further devices that look the same, ";
  text += ". idle; a column is " + format_human_seconds(drawing.scale.column);
  if (drawing.folds_columns) text += "; the letters and dots of a row are in proportion to their time";
  text = wrapped(text, drawing.columns);
  if (drawing.folds_columns) text += wrapped(part_text(drawing.picture, has_window), drawing.columns);
  if (drawing.left_out > 0) {
    text += wrapped(counted(drawing.left_out, "computation") + " shorter than a column: not drawn", drawing.columns);
  }
  return text;
}

/// Of too many rows, the first and the last ones, and a line that says how many `nouns` lie between.
std::string lines(const std::vector<TimelineRow>& rows, std::size_t name_width, std::size_t columns,
                  const std::string& noun) {
  constexpr std::size_t kHalf = kMostTimelineRows / 2;
  const bool cuts = rows.size() > kMostTimelineRows;
  std::string text;
  std::size_t left_out = 0;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (cuts && i >= kHalf && i + kHalf < rows.size()) {
      left_out += rows[i].places;
      if (i + kHalf + 1 == rows.size()) text += wrapped("… " + std::to_string(left_out) + " more " + noun, columns);
      continue;
    }
    const std::string name = shortened(rows[i].name, name_width);
    text += name + std::string(name_width == 0 ? 0 : name_width - width_of(name) + 1, ' ') + rows[i].cells.text + "\n";
  }
  return text;
}

/// The width of the longest name that a row may have.
std::size_t name_width(const Picture& picture, const Platform& platform, bool transfers) {
  std::size_t width = 0;
  for (const auto& [place, entries] : picture.computations) {
    width = std::max(width, width_of(platform.place_name(place)));
  }
  const std::size_t devices = picture.computations.size();
  if (devices > kMostTimelineRows) width += std::to_string(devices).size() + 2;
  if (!transfers) return width;
  for (const auto& [ends, entries] : picture.transfers) width = std::max(width, width_of(name_of_pair(platform, ends)));
  return width;
}

/// The columns of names, which may be shortened: they leave `kLeastCells` columns for time, or two thirds of a line
/// that is too short for that.
std::size_t room_for_names(std::size_t width, std::size_t columns) {
  const std::size_t spare = columns > kLeastCells + 1 ? columns - kLeastCells - 1 : 0;
  return std::min(width, std::max(spare, columns / 3));
}

std::string draw(Drawing& drawing, std::size_t room, const PictureOptions& options) {
  std::vector<TimelineRow> devices = device_rows(drawing);
  std::vector<TimelineRow> transfers = options.transfers ? transfer_rows(drawing) : std::vector<TimelineRow>();
  std::size_t width = 0;  // names may be narrower than the room for them
  for (auto* rows : {&devices, &transfers}) {
    for (TimelineRow& row : *rows) {
      width = std::max(width, width_of(row.name));
      if (options.colours) row.cells.text = coloured(row.cells.text, row.cells.letters);
    }
  }
  width = std::min(width, room);
  const std::string margin(width == 0 ? 0 : width + 1, ' ');
  const std::string times = axis(drawing.scale, drawing.picture.axis_begin);
  return lines(devices, width, drawing.columns, "devices") +
         lines(transfers, width, drawing.columns, "pairs of places") + (times.empty() ? "" : margin + times + "\n") +
         legend(drawing, options.window.has_value());
}

}  // namespace

std::string ascii_timeline(const Timeline& timeline, const Platform& platform, const PictureOptions& options) {
  const Picture picture = take_picture(timeline, platform, options.window);
  const std::size_t columns = std::max<std::size_t>(options.columns, 1);
  const std::size_t most = picture.most_computations();
  if (most == 0) {
    return wrapped(std::string("there is nothing to draw: no computation takes any time") +
                       (options.window ? " in this part of the run" : ""),
                   columns);
  }
  const std::size_t names = room_for_names(name_width(picture, platform, options.transfers), columns);
  const std::size_t cells = columns - (names == 0 ? 0 : names + 1);
  const bool folds = most * kColumnsPerComputation > cells;
  const Scale folded{picture.begin, picture.length() / static_cast<double>(cells), cells};
  Drawing drawing{picture, platform, folds ? folded : choose_scale(picture, cells), columns, folds};
  return draw(drawing, names, options);
}

Timeline part_of(const Timeline& timeline, const TimeRange& range) {
  Timeline part;
  std::ranges::copy_if(timeline, std::back_inserter(part),
                       [&](const TimelineEntry& entry) { return entry.start < range.end && entry.end >= range.begin; });
  return part;
}

std::size_t terminal_columns() {
  if (const auto known = output_terminal_columns()) return *known;
  const char* given = std::getenv("COLUMNS");  // NOLINT(concurrency-mt-unsafe): no threads
  const Parsed<std::int64_t> columns = parse_count(given != nullptr ? given : "");
  const bool is_usable = columns && *columns.value > 0 && *columns.value <= kMostColumns;
  return is_usable ? static_cast<std::size_t>(*columns.value) : kUsualColumns;
}

}  // namespace stagecraft
