#include "experiments/view/plan_search_view.hpp"

#include "experiments/run/simulation.hpp"
#include "experiments/view/configuration.hpp"
#include "experiments/view/plan_remarks.hpp"
#include "experiments/view/plan_view.hpp"
#include "experiments/view/saving_words.hpp"
#include "experiments/view/table.hpp"
#include "experiments/view/text_width.hpp"
#include "experiments/view/update_words.hpp"
#include "sim/base/counted.hpp"
#include "sim/base/short_number.hpp"
#include "sim/base/text.hpp"

#include <fmt/core.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstddef>
#include <span>

namespace stagecraft {
namespace {

constexpr std::size_t kMostTriesShown = 20;

/// Tries that share a row: under another memory policy the plan is the same, or the refusal.
using Row = std::span<const PlanTry>;

bool share_row(const PlanTry& a, const PlanTry& b) {
  const auto& [one, other] = std::tie(a.choices, b.choices);
  const bool are_same =
      a.refusal && b.refusal ? std::string(a.refusal->what()) == b.refusal->what() : a.plan && a.plan == b.plan;
  return are_same && one.degrees == other.degrees && one.training.zero == other.training.zero &&
         one.microbatch_size == other.microbatch_size;
}

std::vector<Row> rows_of(const std::vector<PlanTry>& tries) {
  std::vector<Row> rows;
  for (std::size_t begin = 0; begin < tries.size();) {
    std::size_t end = begin + 1;
    while (end < tries.size() && share_row(tries[begin], tries[end])) ++end;
    rows.emplace_back(tries.begin() + static_cast<std::ptrdiff_t>(begin), end - begin);
    begin = end;
  }
  return rows;
}

const char* heading_of(SearchAxis axis) {
  if (axis == SearchAxis::Memory) return "policy";
  return axis == SearchAxis::MicrobatchSize ? "size" : to_string(axis).c_str();
}

std::string axis_cell(const Row& row, SearchAxis axis) {
  std::string text = value_text(row.front().choices, axis);
  if (axis != SearchAxis::Memory) return text;
  for (const PlanTry& other : row.subspan(1)) text += ", " + value_text(other.choices, axis);
  return text;
}

std::string full_text(const DeviceReport& device) { return percent(1.0 - device.memory.idle_share()); }

/// `replicas`, `samples/s`, `time`, `memory` and `full`.
std::vector<std::string> figure_cells(const PlanTry& tried) {
  if (!tried.plan) return {"-", "-", "-", "-", "-"};
  const auto& device = tried.fullest;
  return {configuration_text(*tried.plan), short_number(tried.samples_per_second),
          time_or_dash(headline(tried.figures)), device ? peak_text(*device) : "-", device ? full_text(*device) : "-"};
}

/// Reasons that are too long for a table, each once.
class Notes {
 public:
  /// `refused [2]`
  std::string add(const std::string& what, const std::string& reason) {
    auto found = std::ranges::find(reasons_, reason);
    if (found == reasons_.end()) found = reasons_.insert(reasons_.end(), reason);
    return fmt::format("{} [{}]", what, found - reasons_.begin() + 1);
  }

  [[nodiscard]] std::string text() const {
    std::string text;
    for (std::size_t i = 0; i < reasons_.size(); ++i) text += wrapped_lines(fmt::format("[{}] {}", i + 1, reasons_[i]));
    return text;
  }

 private:
  std::vector<std::string> reasons_;
};

std::string outcome_cell(const PlanTry& tried, const Platform& platform, Notes& notes) {
  if (tried.fits()) return "";
  if (tried.refusal) return notes.add("refused", tried.refusal->what());
  const Infeasible& lacking = *tried.lacking;
  if (lacking.excess == Bytes(0)) return notes.add(tried.plan ? "does not fit" : "no plan", lacking.reason);
  return "lacks " + format_human_bytes(lacking.excess) +
         (lacking.device ? " on " + platform.devices[*lacking.device].name : "");
}

struct Counts {
  std::size_t fit = 0;
  std::size_t lacking = 0;
  std::size_t refused = 0;
};

Counts count(const std::vector<PlanTry>& tries) {
  Counts counts;
  for (const PlanTry& tried : tries) ++(tried.refusal ? counts.refused : tried.lacking ? counts.lacking : counts.fit);
  return counts;
}

/// `12 fit, 3 do not fit, 1 is refused`.
std::string counts_text(const Counts& counts) {
  std::string text = counts.fit == 0 ? "none fits" : counts.fit == 1 ? "1 fits" : fmt::format("{} fit", counts.fit);
  if (counts.lacking > 0) text += fmt::format(", {} {} not fit", counts.lacking, counts.lacking == 1 ? "does" : "do");
  if (counts.refused > 0) text += fmt::format(", {} {} refused", counts.refused, counts.refused == 1 ? "is" : "are");
  return text;
}

/// What texts of the column `replicas` mean, and what other programs do with some of the plans.
std::string legend(const std::vector<PlanTry>& tries) {
  std::vector<std::string> configurations;
  bool divides_gradients = false;
  bool waits_for_backwards = false;
  bool hides_exchanges = false;
  for (const PlanTry& tried : tries) {
    if (!tried.plan) continue;
    configurations.push_back(configuration_text(*tried.plan));
    divides_gradients = divides_gradients || divides_gradients_in_pipeline(*tried.plan);
    if (const auto bucket = exchanged_buckets(*tried.plan)) {
      (*bucket == Bytes(0) ? waits_for_backwards : hides_exchanges) = true;
    }
  }
  const std::string folded = configuration_legend(configurations);
  std::string text = folded.empty() ? "" : wrapped_lines(folded);
  if (divides_gradients) {
    text += wrapped_lines(fmt::format("zero 2 or 3 in a pipeline of several stages: {}", kGradientsInPipelines));
  }
  if (waits_for_backwards && hides_exchanges) {
    text += wrapped_lines(
        "with zero 0 and 1 gradients are exchanged after a backward, with zero 2 and 3 layer by layer during it; "
        "--training gradient_bucket=SIZE makes them alike");
  }
  return text;
}

}  // namespace

std::string search_text(const std::vector<PlanTry>& tries, const std::vector<SearchAxis>& axes,
                        const Platform& platform) {
  const std::vector<Row> rows = rows_of(tries);
  Table table{{}, {}, 0, true};
  for (const SearchAxis axis : axes) table.header.emplace_back(heading_of(axis));
  for (const char* name : {"replicas", "samples/s", "time", "memory", "full", ""}) table.header.emplace_back(name);
  Notes notes;
  for (const Row& row : std::span(rows).first(std::min(kMostTriesShown, rows.size()))) {
    std::vector<std::string>& cells = table.rows.emplace_back();
    for (const SearchAxis axis : axes) cells.push_back(axis_cell(row, axis));
    for (std::string& cell : figure_cells(row.front())) cells.push_back(std::move(cell));
    cells.push_back(outcome_cell(row.front(), platform, notes));
  }
  std::vector<std::string> names;
  for (const SearchAxis axis : axes) names.push_back(to_string(axis));
  const bool is_replayed = std::ranges::any_of(tries, &PlanTry::is_replayed);
  std::string text = fmt::format("searched {}: {}, of which {}; most samples/s {} first\n", fmt::join(names, ", "),
                                 counted(tries.size(), "combination"), counts_text(count(tries)),
                                 is_replayed ? "in the replay" : "without contention");
  text = wrapped_lines(text) + to_text(table);
  if (rows.size() > kMostTriesShown)
    text += fmt::format("... {} more: --json has all\n", rows.size() - kMostTriesShown);
  text += notes.text();
  return text + legend(tries);
}

namespace {

const char* outcome_of(const PlanTry& tried) {
  if (tried.refusal) return "refused";
  if (tried.fits()) return "ok";
  return tried.plan ? "out_of_memory" : "infeasible";
}

Detail time_detail(const std::optional<Seconds>& time) { return time ? Detail(time->value()) : Detail(); }

Detail axis_detail(const PlanningChoices& choices, SearchAxis axis) {
  const std::string text = value_text(choices, axis);
  return axis == SearchAxis::Memory ? Detail(text) : Detail(static_cast<std::int64_t>(std::stoll(text)));
}

Detail reason_detail(const PlanTry& tried) {
  if (tried.refusal) return tried.refusal->what();
  return tried.lacking ? Detail(tried.lacking->reason) : Detail();
}

Detail::Record try_record(const PlanTry& tried, const std::vector<SearchAxis>& axes, const Platform& platform) {
  Detail::Record record;
  for (const SearchAxis axis : axes) record.emplace_back(to_string(axis), axis_detail(tried.choices, axis));
  const auto& lacking = tried.lacking;
  const bool has_device = lacking && lacking->device;
  const auto& fullest = tried.fullest;
  record.emplace_back("outcome", outcome_of(tried));
  record.emplace_back("fits", tried.fits());
  record.emplace_back("configuration", tried.plan ? Detail(configuration_text(*tried.plan)) : Detail());
  record.emplace_back("throughput_samples_per_s", tried.plan ? Detail(tried.samples_per_second) : Detail());
  record.emplace_back("iteration_time_s", time_detail(tried.figures.iteration_time));
  record.emplace_back("period_s", time_detail(tried.figures.period));
  record.emplace_back("peak_memory_bytes", fullest ? Detail(fullest->memory.peak.value()) : Detail());
  record.emplace_back("memory_bytes", fullest ? Detail(fullest->memory.capacity.value()) : Detail());
  record.emplace_back("excess_bytes", lacking ? Detail(lacking->excess.value()) : Detail());
  record.emplace_back("device", has_device ? Detail(platform.devices[*lacking->device].name) : Detail());
  record.emplace_back("reason", reason_detail(tried));
  return record;
}

}  // namespace

Detail::List search_list(const std::vector<PlanTry>& tries, const std::vector<SearchAxis>& axes,
                         const Platform& platform) {
  Detail::List list;
  for (const PlanTry& tried : tries) list.emplace_back(try_record(tried, axes, platform));
  return list;
}

}  // namespace stagecraft
