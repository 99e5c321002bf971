// The table of a comparison, and the sentences around it.
#include "experiments/run/degrees_text.hpp"
#include "experiments/run/simulation.hpp"
#include "experiments/view/basis_words.hpp"
#include "experiments/view/comparison.hpp"
#include "experiments/view/configuration.hpp"
#include "experiments/view/events_view.hpp"
#include "experiments/view/plan_view.hpp"
#include "experiments/view/replanning_view.hpp"
#include "experiments/view/saving_words.hpp"
#include "experiments/view/sensitivity_view.hpp"
#include "experiments/view/table.hpp"
#include "experiments/view/text_width.hpp"
#include "experiments/view/update_words.hpp"
#include "sim/base/counted.hpp"
#include "sim/base/error.hpp"
#include "sim/base/short_number.hpp"
#include "sim/base/text.hpp"
#include "sim/schedule/schedule_family.hpp"

#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <utility>

namespace stagecraft {
namespace {

bool is_asynchronous(const ComparisonRow& row) { return row.simulation && row.simulation->report.period; }

bool is_synchronous(const ComparisonRow& row) { return row.simulation && !row.simulation->report.period; }

bool lacks_memory(const ComparisonRow& row) { return row.outcome() == "out_of_memory"; }

bool has_savings(const ComparisonRow& row) { return row.simulation && saves(*row.plan()); }

bool is_saved_by_policy(const ComparisonRow& row) { return row.simulation && row.planning->planned()->saved_by_policy; }

std::string full_text(const ComparisonRow& row) {
  const DeviceReport& device = fullest(row.simulation->report);
  return percent(static_cast<double>(device.memory.peak.value()) /
                 static_cast<double>(std::max<std::int64_t>(device.memory.capacity.value(), 1)));
}

bool has_rates(const ComparisonRow& row) { return row.simulation && row.simulation->rates.tflops_per_device; }

bool has_cost(const ComparisonRow& row) { return row.simulation && row.simulation->cost.of_million_samples; }

std::string claim_text(const ComparisonRow& row) {
  const auto error = row.simulation->prediction_error(row.plan()->predicted);
  return error ? signed_percent(*error) : "-";
}

std::string shown_rate(const ComparisonRow& row) { return short_number(row.simulation->report.throughput); }

std::string over_bound_text(const ComparisonRow& row) {
  const auto over = row.simulation->over_bound();
  return over ? short_number(*over) : "-";
}

bool has_ladder(const ComparisonRow& row) { return row.simulation && row.simulation->ladder; }

std::string over_class_text(const ComparisonRow& row) {
  return has_ladder(row) ? short_number(row.simulation->ladder->time / row.simulation->ladder->any_plan) : "-";
}

/// A figure of a row that has a plan.
struct Column {
  const char* name;
  std::string (*cell)(const ComparisonRow& row);
};

/// The columns of the first screen.
constexpr std::array kNarrow = {
    Column{"replicas", [](const ComparisonRow& row) { return configuration_text(*row.plan()); }},
    Column{"devices",
           [](const ComparisonRow& row) { return std::to_string(row.simulation->report.measured_devices()); }},
    Column{"samples/s", &shown_rate},
    Column{"bubble", [](const ComparisonRow& row) { return percent(row.simulation->report.bubble_ratio); }},
    Column{"memory", [](const ComparisonRow& row) { return peak_text(fullest(row.simulation->report)); }},
    Column{"saves", [](const ComparisonRow& row) { return saving_text(*row.planning->planned()); }},
    Column{"claim", &claim_text},
};

std::string planned_schedule(const ComparisonRow& row) { return schedule_text(row.plan()->schedule); }

/// The others.
constexpr std::array kWide = {
    Column{"schedule", &planned_schedule},
    Column{"micro", [](const ComparisonRow& row) { return std::to_string(row.simulation->length.microbatches); }},
    Column{"size", [](const ComparisonRow& row) { return std::to_string(row.planning->graph.microbatch_size); }},
    Column{"update", [](const ComparisonRow& row) { return samples_text(row.simulation->updates); }},
    Column{"time", [](const ComparisonRow& row) { return time_or_dash(headline(row.simulation->report.figures())); }},
    Column{"evaluated", [](const ComparisonRow& row) { return time_or_dash(headline(row.simulation->evaluated)); }},
    Column{"x best", &over_bound_text},
    Column{"x class", &over_class_text},
    Column{"full", &full_text},
};

std::string known_number(const std::optional<double>& number) { return number ? short_number(*number) : "-"; }

/// Those that a table has where some row knows them.
constexpr std::array kKnown = {
    Column{"tokens/s", [](const ComparisonRow& row) { return known_number(row.simulation->rates.tokens_per_second); }},
    Column{"TFLOP/s", [](const ComparisonRow& row) { return known_number(row.simulation->rates.tflops_per_device); }},
    Column{"MFU",
           [](const ComparisonRow& row) {
             const auto& mfu = row.simulation->rates.mfu;
             return mfu ? percent(*mfu) : "-";
           }},
    Column{"cost/iteration", [](const ComparisonRow& row) { return known_number(row.simulation->cost.of_iteration); }},
    Column{"cost/10^9 tokens",
           [](const ComparisonRow& row) { return known_number(row.simulation->cost.of_billion_tokens); }},
    Column{"cost/10^6 samples",
           [](const ComparisonRow& row) {
             const RunCost& cost = row.simulation->cost;
             return known_number(cost.of_billion_tokens ? std::nullopt : cost.of_million_samples);
           }},
};

std::vector<Column> columns_of(const Comparison& comparison, const RowChoice& choice) {
  std::vector<Column> columns(kNarrow.begin(), kNarrow.end());
  if (!choice.wide) return columns;
  columns.insert(columns.end(), kWide.begin() + (comparison.names_schedules ? 1 : 0), kWide.end());
  for (const Column& known : kKnown) {
    const auto is_known = [&](const ComparisonRow& row) { return row.simulation && known.cell(row) != "-"; };
    if (std::ranges::any_of(comparison.rows, is_known)) columns.push_back(known);
  }
  return columns;
}

/// Whether it is the best of the rows that flush, or of those that do not: they are not the same training. All rows are
/// that show the same samples/s as the first one.
bool is_best(const Comparison& comparison, const ComparisonRow& row) {
  const auto is_rival = [&](const ComparisonRow& other) {
    return other.outcome() == "ok" && is_asynchronous(other) == is_asynchronous(row);
  };
  const auto first = std::ranges::find_if(comparison.rows, is_rival);
  return first != comparison.rows.end() && is_rival(row) && shown_rate(*first) == shown_rate(row);
}

/// Whether several rows of a kind are marked as the best.
bool has_tie(const Comparison& comparison) {
  const auto count = [&](bool (*is_kind)(const ComparisonRow& row)) {
    return std::ranges::count_if(comparison.rows,
                                 [&](const ComparisonRow& row) { return is_kind(row) && is_best(comparison, row); });
  };
  return count(&is_synchronous) > 1 || count(&is_asynchronous) > 1;
}

/// Whether a row of that kind is marked as the best.
bool has_best(const std::vector<Comparison>& comparisons, bool (*is_kind)(const ComparisonRow& row)) {
  return std::ranges::any_of(comparisons, [&](const Comparison& each) {
    return std::ranges::any_of(each.rows, [&](const ComparisonRow& row) { return is_kind(row) && is_best(each, row); });
  });
}

std::string planner_cell(const Comparison& comparison, const ComparisonRow& row) {
  const char* mark = is_best(comparison, row) ? "> " : lacks_memory(row) ? "! " : "  ";
  return mark + row.planner->name + (is_asynchronous(row) ? " *" : "");
}

std::string outcome_cell(const ComparisonRow& row) {
  std::string outcome = row.outcome();
  std::ranges::replace(outcome, '_', ' ');
  if (is_asynchronous(row) && !row.simulation->report.converged()) outcome += ", not converged";
  return outcome;
}

Table table_of(const Comparison& comparison, const RowChoice& choice) {
  const std::vector<Column> columns = columns_of(comparison, choice);
  Table table{{"  planner"}, {}, 2, choice.wide};
  if (comparison.names_schedules) {
    table.header.emplace_back("schedule");
    ++table.left_columns;
  }
  for (const Column& column : columns) table.header.emplace_back(column.name);
  if (choice.wide && choice.timings) table.header.emplace_back("planning");
  if (choice.wide) table.header.emplace_back("outcome");
  for (const ComparisonRow& row : comparison.rows) {
    std::vector<std::string>& cells = table.rows.emplace_back();
    cells.push_back(planner_cell(comparison, row));
    if (comparison.names_schedules) cells.push_back(row.simulation ? planned_schedule(row) : row.asked_schedule());
    for (const Column& column : columns) cells.push_back(row.simulation ? column.cell(row) : "-");
    if (choice.wide && choice.timings) cells.push_back(row.planning ? format_human_seconds(row.planning->time) : "-");
    if (choice.wide) cells.push_back(outcome_cell(row));
  }
  return table;
}

/// The refusal without the planner's name at its beginning, so that planners may share it.
std::string nameless(const std::string& refusal, const std::string& planner) {
  const std::string quoted = "planner " + quote(planner);
  for (const std::string& name : {planner + ": ", quoted + ": ", quoted + " "}) {
    if (refusal.starts_with(name)) return refusal.substr(name.size());
  }
  return refusal;
}

/// Why a row has no figures, or figures that no machine could reach because memory does not suffice; that its plan has
/// changed; that events name devices which it does not use; how many stand idle; or that two short runs stand for its
/// own. Without the planner's name.
std::vector<std::string> notes_of(const ComparisonRow& row, const Platform& platform) {
  if (!row.planning) return {nameless(row.refusal->what(), row.planner->name)};
  if (!row.simulation) return {infeasible_text(*row.planning, platform, "  ")};
  std::vector<std::string> notes;
  const Report& report = row.simulation->report;
  if (std::string replans = replans_line(report); !replans.empty()) notes.push_back(std::move(replans));
  for (const std::string& line : idle_events_words(*row.simulation, platform)) notes.push_back(line);
  if (std::string idle = idle_devices_text(*row.plan(), platform); !idle.empty()) notes.push_back(std::move(idle));
  if (report.out_of_memory()) {
    const MemoryOverflow& overflow = report.overflows.front();
    notes.push_back(platform.place_name(overflow.place) + " lacks " + format_human_bytes(overflow.excess));
  }
  if (const auto& run = row.simulation->long_run; run && run->repetition() != nullptr)
    notes.emplace_back("simulated until the state of the run came again");
  return notes;
}

/// The item of that key, which is appended if there is none yet.
template <class Item>
Item& item_of(std::vector<std::pair<std::string, Item>>& items, const std::string& key) {
  const auto known = std::ranges::find(items, key, &std::pair<std::string, Item>::first);
  return known != items.end() ? known->second : items.emplace_back(key, Item()).second;
}

/// The names of planners by the schedule that they were asked for.
using Askers = std::vector<std::pair<std::string, std::vector<std::string>>>;

/// `spp, dapple`, or `spp, dapple with zb-v; spp with zb-h1`.
std::string askers_text(const Askers& askers) {
  std::string text;
  for (const auto& [schedule, planners] : askers) {
    text += fmt::format("{}{}{}{}", text.empty() ? "" : "; ", fmt::join(planners, ", "),
                        schedule.empty() ? "" : " with ", schedule);
  }
  return text;
}

std::string title_of(const Comparison& comparison) {
  return comparison.inputs.model.profiles.front().name + " on " + comparison.inputs.platform.spec.name;
}

/// What rows have in common, or where they differ.
struct Common {
  std::set<std::int64_t> sizes;  ///< of microbatches, in samples
  std::vector<Degrees> groups;   ///< each once
  std::set<std::int64_t> updates;
  std::map<Bytes, std::vector<std::string>> buckets;
  std::int64_t zero = 0;  ///< `Training::zero`
  std::vector<Basis> bases;
};

Common common_of(const Comparison& comparison) {
  Common common;
  for (const ComparisonRow& row : comparison.rows) {
    if (row.planning) {
      common.sizes.insert(row.planning->graph.microbatch_size);
      const Degrees& groups = row.planning->graph.degrees;
      if (std::ranges::find(common.groups, groups) == common.groups.end()) common.groups.push_back(groups);
    }
    if (!row.simulation) continue;
    common.zero = row.plan()->training.zero;
    common.bases.push_back(row.simulation->basis);
    common.updates.insert(fewest_samples(row.simulation->updates));
    common.updates.insert(largest(row.simulation->updates).samples);
    if (const auto size = exchanged_buckets(*row.plan())) common.buckets[*size].push_back(row.name());
  }
  return common;
}

/// `vgg16 on dgx-1-v100 (8 devices), 256 samples per update, microbatches of 4 samples, zero 1, sends stream`.
std::string heading(const Comparison& comparison, const Common& common) {
  std::string text = title_of(comparison) + " (" + counted(comparison.inputs.platform.devices.size(), "device") + ")";
  if (common.updates.size() == 1) text += ", " + counted(*common.updates.begin(), "sample") + " per update";
  const Degrees groups = common.groups.size() == 1 ? common.groups.front() : Degrees();
  if (common.sizes.size() == 1) text += ", microbatches of " + microbatch_text(*common.sizes.begin(), groups);
  if (common.sizes.size() > 1) text += ", microbatches of several sizes";
  text += on_groups_text(groups);
  if (common.zero > 0) text += ", zero " + std::to_string(common.zero);
  if (comparison.transfers) text += std::string(", sends ") + to_string(*comparison.transfers);
  if (comparison.rows.size() < comparison.expected) {
    text += fmt::format(" ({} of {} rows are done)", comparison.rows.size(), comparison.expected);
  }
  return text + "\n";
}

std::string one_text(const Comparison& comparison, const RowChoice& choice) {
  const Common common = common_of(comparison);
  std::string text = heading(comparison, common);
  for (const std::string& sentence : {different_updates_text(common.updates), different_buckets_text(common.buckets)}) {
    text += wrapped_lines(sentence);
  }
  text += to_text(table_of(comparison, choice));
  for (const std::string& note : notes_of(comparison)) text += wrapped_lines(note);
  return common.bases.empty() ? text : text + wrapped_lines(basis_text(ranges_of(common.bases)));
}

std::vector<std::string> configurations_of(const std::vector<Comparison>& comparisons) {
  std::vector<std::string> texts;
  for (const Comparison& each : comparisons) {
    for (const ComparisonRow& row : each.rows) {
      if (row.simulation) texts.push_back(configuration_text(*row.plan()));
    }
  }
  return texts;
}

/// What the columns and marks mean that some row has.
std::string legend(const std::vector<Comparison>& comparisons, const RowChoice& choice) {
  const auto any = [&](bool (*has)(const ComparisonRow& row)) {
    return std::ranges::any_of(comparisons,
                               [&](const Comparison& each) { return std::ranges::any_of(each.rows, has); });
  };
  std::string text = "memory: peak of the fullest device; claim: how far the planner's claim was off\n";
  const bool marks_with_flush = has_best(comparisons, &is_synchronous);
  const bool marks_without = has_best(comparisons, &is_asynchronous);
  if (marks_with_flush || marks_without) text += "> the most samples/s";
  if (marks_with_flush && marks_without) text += ", of plans with a flush and of those without";
  if (std::ranges::any_of(comparisons, &has_tie)) text += "; several rows show the same";
  if (marks_with_flush || marks_without) text += "\n";
  if (const std::string folded = configuration_legend(configurations_of(comparisons)); !folded.empty()) {
    text += folded + "\n";
  }
  if (any(&has_savings)) text += std::string(kSavesLegend) + "\n";
  if (any(&is_saved_by_policy)) text += std::string(kPolicyLegend) + "\n";
  if (any(&is_asynchronous)) text += "* no flush between iterations: asynchronous, weights are older\n";
  if (any(&lacks_memory)) text += "! out of memory: no machine reaches these figures\n";
  if (!choice.wide) return text + "--wide shows all columns\n";
  return text +
         "micro: microbatches of an iteration, or of the whole asynchronous run, of so many samples (size)\n"
         "update: samples per update, of the stages with the fewest and the most\n"
         "time: of an iteration, or of a microbatch if asynchronous; evaluated: the same without contention\n"
         "x best: time over the least possible for this cut (1: no order is faster)\n" +
         (any(&has_ladder)
              ? "x class: time over the least possible for any contiguous flushed plan of its microbatches\n"
              : "") +
         "full: how much of the fullest device's memory is used\n" +
         (any(&has_rates) ? "TFLOP/s: operations of the model, per device, attention in full; MFU: their share of the "
                            "devices' peaks\n"
                          : "") +
         (any(&has_cost) ? "cost: of the devices that the plan uses, in the currency of their prices\n" : "");
}

}  // namespace

std::string row_line(const ComparisonRow& row) {
  if (!row.simulation) return row.name() + ": " + (row.planning ? "no plan fits" : "refused");
  return row.name() + ": " + short_number(row.simulation->report.throughput) + " samples/s with " +
         configuration_text(*row.plan()) + " replicas" + (lacks_memory(row) ? ", but out of memory" : "");
}

std::vector<std::string> notes_of(const Comparison& comparison) {
  std::vector<std::pair<std::string, Askers>> askers;  // by note
  for (const ComparisonRow& row : comparison.rows) {
    for (std::string& note : notes_of(row, comparison.inputs.platform)) {
      item_of(item_of(askers, note), row.asked_schedule()).push_back(row.planner->name);
    }
  }
  std::vector<std::string> notes;
  for (const auto& [note, of_note] : askers) notes.push_back(askers_text(of_note) + ": " + note);
  return notes;
}

std::string comparison_text(const std::vector<Comparison>& comparisons, const RowChoice& choice) {
  std::string text;
  for (const Comparison& comparison : comparisons) {
    if (!comparison.rows.empty()) text += one_text(comparison, choice) + "\n";
  }
  text += wrapped_lines(legend(comparisons, choice));
  for (const Comparison& comparison : comparisons) {
    if (comparison.is_varied) text += "\n" + sensitivity_text(title_of(comparison), comparison.sensitivity);
  }
  return text;
}

}  // namespace stagecraft
