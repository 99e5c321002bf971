#include "experiments/view/svg_timeline.hpp"

#include "experiments/view/text_width.hpp"
#include "experiments/view/timeline_picture.hpp"
#include "experiments/view/xml_text.hpp"
#include "sim/base/counted.hpp"
#include "sim/base/text.hpp"

#include <fmt/core.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace stagecraft {
namespace {

// Units of the image.
constexpr double kWidth = 1000;
constexpr double kLeft = 100;
constexpr double kRight = 992;
constexpr double kRow = 20;
constexpr double kGap = 3;
constexpr double kAxis = 22;
constexpr double kLegend = 26;
constexpr auto kColumns = static_cast<std::size_t>(kRight - kLeft);  ///< of a folded row, a unit each
constexpr std::size_t kUnitsPerComputation = 2;
constexpr double kLabelled = 16;
constexpr std::size_t kNameColumns = 13;  ///< that fit left of the rows

/// The class in the style of a kind of computation.
struct StyleClass {
  OpKind kind;
  const char* name;
};
constexpr std::array<StyleClass, 8> kStyleClasses{{
    {OpKind::Forward, "f"},
    {OpKind::Backward, "b"},
    {OpKind::BackwardInput, "b"},
    {OpKind::BackwardWeight, "w"},
    {OpKind::ForwardBackward, "o"},
    {OpKind::Recompute, "r"},
    {OpKind::Exchange, "a"},
    {OpKind::Update, "u"},
}};

/// The colours of the page of a run (web/src/run/style.css).
constexpr std::string_view kStyle = R"(
text{font:12px system-ui,sans-serif;fill:#1b1f24}.d{text-anchor:end}.l{text-anchor:middle;font-size:11px;fill:#10141a}
.row{fill:#eef0f3}.tick{stroke:#dfe3e8}.a{fill:#5b6472}
.f{fill:#4c9be8}.b{fill:#f0a73a}.w{fill:#c9782b}.o{fill:#8b94dc}.r{fill:#f2e25b}.u{fill:#b07aa1}
@media(prefers-color-scheme:dark){text{fill:#e6e9ee}.row{fill:#20262e}.tick{stroke:#2c333d}.a{fill:#9aa4b2})"
                                    R"(.l{fill:#10141a}}
)";

const char* style_class(OpKind kind) { return std::ranges::find(kStyleClasses, kind, &StyleClass::kind)->name; }

/// A step of 1, 2 or 5 times a power of ten, so that about eight fit.
Seconds tick_of(Seconds span) {
  const double least = span.value() / 8;
  const double power = std::pow(10.0, std::floor(std::log10(least)));
  for (const double factor : {1.0, 2.0, 5.0}) {
    if (factor * power >= least) return Seconds(factor * power);
  }
  return Seconds(10 * power);
}

/// Whether two devices run operations of the same kinds and stages at the same dates. Microbatches may differ.
bool are_alike(const RowEntries& row, const RowEntries& other, Seconds same) {
  const auto is_same_date = [&](Seconds a, Seconds b) { return std::abs((a - b).value()) <= same.value(); };
  return std::ranges::equal(row, other, [&](const TimelineEntry* a, const TimelineEntry* b) {
    return a->kind == b->kind && a->stage == b->stage && a->aborted == b->aborted && is_same_date(a->start, b->start) &&
           is_same_date(a->end, b->end);
  });
}

struct PictureRow {
  PlaceId place;
  const RowEntries* entries;
  std::size_t alike = 0;  ///< devices that it stands for beside its own
};

/// Of more than a few devices, the first one of those in a row that compute alike stands for the others, as on the page
/// of a run (web/src/run/alike.ts).
std::vector<PictureRow> rows_of(const Picture& picture) {
  constexpr std::size_t kFewDevices = 24;
  constexpr double kNoise = 1e-9;  // of the run's length
  const bool may_fold = picture.computations.size() > kFewDevices;
  std::vector<PictureRow> rows;
  for (const auto& [place, entries] : picture.computations) {
    if (may_fold && !rows.empty() && are_alike(*rows.back().entries, entries, picture.run_end * kNoise)) {
      ++rows.back().alike;
    } else {
      rows.push_back({place, &entries});
    }
  }
  return rows;
}

class SvgTimeline {
 public:
  SvgTimeline(const Timeline& timeline, const Platform& platform, const TimeRange& range)
      : platform_(platform),
        range_(range),
        picture_(take_picture(timeline, platform, range)),
        all_rows_(rows_of(picture_)),
        rows_(std::min(all_rows_.size(), kMostPictureRows)),
        folds_(picture_.most_computations() * kUnitsPerComputation > kColumns) {}

  std::string text() {
    const double height = kAxis + static_cast<double>(rows_) * (kRow + kGap) + kLegend;
    append(R"(<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {} {}" role="img">)"
           R"(<!-- Stagecraft --><style>{}</style>)",
           kWidth, height, kStyle);
    write_axis(height - kLegend);
    double y = kAxis;
    for (std::size_t i = 0; i < rows_; ++i) {
      const PictureRow& row = all_rows_[i];
      write_name(platform_.place_name(row.place), row.alike, y);
      folds_ ? write_folded(*row.entries, y) : write_operations(*row.entries, y);
      append("\n");
      y += kRow + kGap;
    }
    write_legend(height - kLegend / 3);
    append("</svg>\n");
    return fmt::to_string(out_);
  }

 private:
  template <class... Values>
  void append(fmt::format_string<const Values&...> format, const Values&... values) {
    fmt::format_to(std::back_inserter(out_), format, values...);
  }

  [[nodiscard]] double x_of(Seconds at) const {
    const double part = (at - range_.begin) / (range_.end - range_.begin);
    return kLeft + (kRight - kLeft) * std::clamp(part, 0.0, 1.0);
  }

  void write_axis(double bottom) {
    const Seconds tick = tick_of(range_.end - range_.begin);
    const auto first = static_cast<std::int64_t>(std::ceil(range_.begin / tick - 1e-9));
    const auto last = static_cast<std::int64_t>(std::floor(range_.end / tick + 1e-9));
    for (std::int64_t i = first; i <= last; ++i) {
      const Seconds at = tick * static_cast<double>(i);
      append(R"(<path class="tick" d="M{0:.2f} {1}V{2}"/>)", x_of(at), kAxis - 6, bottom);
      if (x_of(at) > kRight - 60) continue;
      append(R"(<text class="a" x="{:.2f}" y="13">{}</text>)", x_of(at) + 3, format_human_seconds(at));
    }
    append("\n");
  }

  void write_name(const std::string& name, std::size_t alike, double y) {
    const std::string more = alike == 0 ? "" : " +" + std::to_string(alike);
    append(R"(<text class="d" x="{}" y="{}">{}{}</text><rect class="row" x="{}" y="{}" width="{}" height="{}"/>)",
           kLeft - 8, y + kRow * 0.7,
           width_of(name + more) > kNameColumns ? "<title>" + xml_text(name + more) + "</title>" : "",
           xml_text(shortened(name, kNameColumns - more.size()) + more), kLeft, y, kRight - kLeft, kRow);
  }

  void write_operations(const RowEntries& entries, double y) {
    for (const TimelineEntry* entry : entries) write_operation(*entry, y);
  }

  /// A path for each kind, of the columns that are its own.
  void write_folded(const RowEntries& entries, double y) {
    const std::string cells =
        folded_cells(entries, {range_.begin, (range_.end - range_.begin) / static_cast<double>(kColumns), kColumns});
    std::map<char, std::string> paths;
    for (std::size_t begin = 0; begin < cells.size();) {
      const std::size_t end = std::min(cells.find_first_not_of(cells[begin], begin), cells.size());
      if (cells[begin] != '.') {
        paths[cells[begin]] +=
            fmt::format("M{} {}h{}v{}h-{}z", kLeft + static_cast<double>(begin), y, end - begin, kRow, end - begin);
      }
      begin = end;
    }
    for (const Sign& sign : kSigns) {
      const auto path = paths.find(sign.letter);
      if (path == paths.end()) continue;
      kinds_.insert(sign.kind);
      append(R"(<path class="{}" d="{}"/>)", style_class(sign.kind), path->second);
    }
  }

  void write_operation(const TimelineEntry& entry, double y) {
    kinds_.insert(entry.kind);
    const double left = x_of(entry.start);
    const double width = x_of(entry.end) - left;
    append(R"(<rect class="{}" x="{:.2f}" y="{}" width="{:.2f}" height="{}"/>)", style_class(entry.kind), left, y,
           width > 3 ? width - 0.6 : std::max(width, 0.2), kRow);
    const std::string number = std::to_string(entry.microbatch);
    const std::string label = sign_of(entry.kind)->letter + number;
    constexpr double kLetter = 7;
    const bool has_label = width >= kLabelled && width > kLetter * static_cast<double>(label.size());
    if (!has_label) return;
    append(R"(<text class="l" x="{:.2f}" y="{}">{}</text>)", left + width / 2, y + kRow * 0.7, label);
  }

  void write_legend(double y) {
    double x = kLeft;
    for (const Sign& sign : kSigns) {
      if (!kinds_.contains(sign.kind)) continue;
      append(R"(<rect class="{}" x="{}" y="{:.1f}" width="11" height="11"/>)"
             R"(<text class="a" x="{}" y="{:.1f}">{} {}</text>)",
             style_class(sign.kind), x, y - 10, x + 15, y, sign.letter, sign.meaning);
      x += 40 + 7 * static_cast<double>(std::string_view(sign.meaning).size());
    }
    std::size_t left_out = 0;
    for (std::size_t i = rows_; i < all_rows_.size(); ++i) left_out += 1 + all_rows_[i].alike;
    if (left_out > 0) append(R"(<text class="a" x="{}" y="{:.1f}">{}</text>)", x, y, counted(left_out, "more device"));
  }

  const Platform& platform_;
  TimeRange range_;
  Picture picture_;
  std::vector<PictureRow> all_rows_;
  std::size_t rows_;  ///< that are drawn
  bool folds_;        ///< computations are too short to show, and those of a column take turns
  std::set<OpKind> kinds_;
  fmt::memory_buffer out_;
};

TimeRange whole_of(const Timeline& timeline) {
  Seconds end;
  for (const TimelineEntry& entry : timeline) end = std::max(end, entry.end);
  return {Seconds(0), end > Seconds(0) ? end : Seconds(1)};
}

}  // namespace

std::string svg_timeline(const Timeline& timeline, const Platform& platform, const std::optional<TimeRange>& window) {
  return SvgTimeline(timeline, platform, window.value_or(whole_of(timeline))).text();
}

}  // namespace stagecraft
