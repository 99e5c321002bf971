#include "experiments/view/replanning_view.hpp"

#include "experiments/run/stage_numbers.hpp"
#include "experiments/run/stall.hpp"
#include "experiments/view/moved_layers.hpp"
#include "experiments/view/table.hpp"
#include "sim/base/counted.hpp"
#include "sim/base/short_number.hpp"
#include "sim/base/text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

namespace stagecraft {
namespace {

constexpr std::size_t kQuestionsShown = 20;
constexpr std::size_t kWindowsShown = 20;
constexpr double kSameThroughput = 0.01;

Detail time_or_null(const std::optional<Seconds>& time) { return time ? Detail(time->value()) : Detail(); }

Detail stage_record(const FollowingStage& stage, const LayerGraph& graph, const Platform& platform) {
  Detail::List layers;
  for (LayerId layer : stage.layers) layers.emplace_back(graph.layers[layer].name);
  Detail::List devices;
  for (DeviceId device : stage.devices) devices.emplace_back(platform.devices[device].name);
  return Detail::Record{{"layers", std::move(layers)},
                        {"devices", std::move(devices)},
                        {"recomputed_layers", stage.recomputed},
                        {"swapped_layers", stage.swapped}};
}

using Models = std::vector<const LayerGraph*>;

Detail::List question_list(const Report& report, const Models& models, const Platform& platform) {
  Detail::List list;
  for (const ReplanQuestion& question : report.course.questions) {
    const LayerGraph& graph = *models[question.model];
    Detail::List stages;
    for (const FollowingStage& stage : question.stages) stages.push_back(stage_record(stage, graph, platform));
    list.emplace_back(Detail::Record{{"asked_by", to_string(question.cause)},
                                     {"microbatch", std::int64_t{question.microbatch}},
                                     {"at_s", question.at.value()},
                                     {"reason", question.reason},
                                     {"keeping_s", time_or_null(question.keeping)},
                                     {"changing_s", time_or_null(question.changing)},
                                     {"expected_stall_s", time_or_null(question.stall)},
                                     {"changes_at", question.first ? Detail(std::int64_t{*question.first}) : Detail()},
                                     {"stages", question.first ? Detail(std::move(stages)) : Detail()}});
  }
  return list;
}

Detail::List window_list(const Report& report) {
  Detail::List list;
  for (const WindowReport& window : report.course.windows) {
    list.emplace_back(Detail::Record{{"begin", window.begin},
                                     {"end", window.end},
                                     {"microbatch_size", window.microbatch_size},
                                     {"at_s", window.at.value()},
                                     {"throughput_samples_per_s", window.throughput}});
  }
  return list;
}

Detail::List replan_list(const Report& report, const std::vector<Moved>& moved) {
  const std::vector<const ReplanQuestion*> questions = changes_of_plan(report);
  Detail::List list;
  for (std::size_t i = 0; i < std::min(questions.size(), report.course.replans.size()); ++i) {
    Bytes bytes;
    for (const Moved& move : moved) bytes += move.replan == i ? move.migration->bytes : Bytes(0);
    list.emplace_back(Detail::Record{{"microbatch", std::int64_t{report.course.replans[i].microbatch}},
                                     {"at_s", report.course.replans[i].at.value()},
                                     {"reason", questions[i]->reason},
                                     {"keeping_s", time_or_null(questions[i]->keeping)},
                                     {"changing_s", time_or_null(questions[i]->changing)},
                                     {"live", questions[i]->live},
                                     {"redone", std::int64_t{questions[i]->redone}},
                                     {"moved_bytes", bytes.value()},
                                     {"expected_stall_s", time_or_null(questions[i]->stall)},
                                     {"stall_s", time_or_null(stall_of(report, i))}});
  }
  return list;
}

Detail::List migration_list(const std::vector<Moved>& moved, const Report& report, const Models& models,
                            const Platform& platform) {
  const std::vector<const ReplanQuestion*> questions = changes_of_plan(report);
  Detail::List list;
  for (const Moved& move : moved) {
    const LayerGraph& graph = *models[questions[move.replan]->model];
    Detail::List layers;
    for (LayerId layer : move.layers) layers.emplace_back(graph.layers[layer].name);
    const Migration& migration = *move.migration;
    list.emplace_back(Detail::Record{{"stage", std::int64_t{stage_in_plan(report, migration.stage).value()}},
                                     {"layers", std::move(layers)},
                                     {"from", platform.place_name(migration.from)},
                                     {"to", platform.place_name(migration.to)},
                                     {"what", to_string(migration.what)},
                                     {"bytes", migration.bytes.value()},
                                     {"start_s", migration.start.value()},
                                     {"end_s", migration.end.value()}});
  }
  return list;
}

/// `4-4-4-4`: the number of layers of each stage.
std::string layers_text(const ReplanQuestion& question) {
  std::string text;
  for (const FollowingStage& stage : question.stages) {
    text += (text.empty() ? "" : "-") + std::to_string(stage.layers.size());
  }
  return text.empty() ? "-" : text;
}

/// Questions that are answered as the one before are left out.
std::vector<const ReplanQuestion*> telling_questions(const Report& report) {
  std::vector<const ReplanQuestion*> telling;
  for (const ReplanQuestion& question : report.course.questions) {
    if (question.first || telling.empty() || question.reason != telling.back()->reason) telling.push_back(&question);
  }
  return telling;
}

std::string questions_table(const Report& report) {
  Table table{{"asked after", "at", "plan", "other plan", "changes at", "layers of its stages", "reason"}, {}, 0, true};
  const std::vector<const ReplanQuestion*> telling = telling_questions(report);
  for (const ReplanQuestion* question : telling) {
    if (table.rows.size() == kQuestionsShown) break;
    table.rows.push_back({std::to_string(question->microbatch), format_human_seconds(question->at),
                          time_or_dash(question->keeping), time_or_dash(question->changing),
                          question->first ? std::to_string(*question->first) : "-", layers_text(*question),
                          question->reason});
  }
  std::string text = to_text(table);
  if (telling.size() > kQuestionsShown) text += fmt::format("(and {} more)\n", telling.size() - kQuestionsShown);
  return text;
}

/// Windows with about the same throughput as the first of them are one.
std::vector<WindowReport> joined(const std::vector<WindowReport>& windows) {
  std::vector<WindowReport> joined;
  for (const WindowReport& window : windows) {
    const bool goes_on =
        !joined.empty() && window.microbatch_size == joined.back().microbatch_size &&
        std::abs(window.throughput - joined.back().throughput) <= kSameThroughput * joined.back().throughput;
    if (!goes_on) {
      joined.push_back(window);
    } else {
      joined.back().end = window.end;
      joined.back().at = window.at;
    }
  }
  return joined;
}

std::string windows_table(const Report& report) {
  const std::vector<WindowReport> windows = joined(report.course.windows);
  const bool is_one_size =
      std::ranges::adjacent_find(windows, std::ranges::not_equal_to(), &WindowReport::microbatch_size) == windows.end();
  Table table{{"microbatches", "until", "samples/s"}, {}};
  if (!is_one_size) table.header.emplace_back("samples each");
  for (std::size_t i = 0; i < std::min(windows.size(), kWindowsShown); ++i) {
    const WindowReport& window = windows[i];
    table.rows.push_back({fmt::format("{} to {}", window.begin, window.end - 1), format_human_seconds(window.at),
                          window.throughput > 0.0 ? short_number(window.throughput) : "-"});
    if (!is_one_size) table.rows.back().push_back(std::to_string(window.microbatch_size));
  }
  std::string text = "\n" + to_text(table);
  if (windows.size() > kWindowsShown) text += fmt::format("(and {} more)\n", windows.size() - kWindowsShown);
  return text;
}

std::string migrations_line(const Report& report) {
  if (report.course.migrations.empty()) return "";
  Bytes bytes;
  Seconds longest;
  for (const Migration& migration : report.course.migrations) {
    bytes += migration.bytes;
    longest = std::max(longest, migration.end - migration.start);
  }
  return fmt::format("moved: {} in {}, of which the longest took {}\n", format_human_bytes(bytes),
                     counted(report.course.migrations.size(), "transfer"), format_human_seconds(longest));
}

/// What became of the microbatches in flight while the plan changed.
std::string how_it_went(const std::vector<const ReplanQuestion*>& changes) {
  std::size_t live = 0;
  std::size_t lost = 0;
  for (const ReplanQuestion* change : changes) {
    live += change->live ? 1 : 0;
    lost += change->cause == ReplanQuestion::Cause::Failure ? 1 : 0;
  }
  std::vector<std::string> parts;
  for (const auto& [count, what] :
       {std::pair(live, "training went on meanwhile"), std::pair(changes.size() - live - lost, "the pipeline drained"),
        std::pair(lost, "what was in flight was lost")}) {
    if (count == changes.size()) return what;
    if (count > 0) parts.push_back(counted(count, "time") + " " + what);
  }
  return fmt::format("{}", fmt::join(parts, ", "));
}

std::string redone_line(const Report& report) {
  std::size_t redone = 0;
  for (const ReplanQuestion* change : changes_of_plan(report)) redone += change->redone;
  return redone == 0 ? "" : fmt::format("run again: {}\n", counted(redone, "microbatch"));
}

/// What the changes cost, and how.
std::string stall_line(const Report& report) {
  const std::optional<Seconds> stall = stall_of_all(report);
  if (report.course.replans.empty() || !stall) return "";
  const std::vector<const ReplanQuestion*> changes = changes_of_plan(report);
  return fmt::format("stall: {}; {}\n", format_human_seconds(*stall), how_it_went(changes));
}

/// Whether the changes were worth what they cost.
std::string verdict_line(const Simulation& simulation) {
  if (!simulation.kept) return "";
  const auto& [end, problem] = *simulation.kept;
  const std::optional<Seconds> stall = stall_of_all(simulation.report);
  return fmt::format(
      "kept {}, re-planned {}{}\n", end ? format_human_seconds(*end) : "without an end (" + problem + ")",
      format_human_seconds(simulation.report.end), stall ? ", the changes cost " + format_human_seconds(*stall) : "");
}

}  // namespace

Detail::Record replanning_record(const Simulation& simulation, const LayerGraph& graph, const Plan& plan,
                                 const Platform& platform) {
  const Report& report = simulation.report;
  Models models{&graph};
  for (const NextModel& next : simulation.models) models.push_back(next.graph.get());
  const std::vector<Moved> moved = moved_layers(report, plan, platform, models);
  Detail::Record record;
  if (!report.course.windows.empty()) record.emplace_back("windows", window_list(report));
  if (!report.course.questions.empty()) record.emplace_back("questions", question_list(report, models, platform));
  if (!report.course.replans.empty()) record.emplace_back("replans", replan_list(report, moved));
  if (!report.course.migrations.empty()) {
    record.emplace_back("migrations", migration_list(moved, report, models, platform));
  }
  if (simulation.kept) {
    const std::optional<Seconds>& end = simulation.kept->end;
    const std::optional<Seconds> stall = stall_of_all(report);
    record.emplace_back("verdict", Detail::Record{{"kept_s", end ? Detail(end->value()) : Detail()},
                                                  {"replanned_s", report.end.value()},
                                                  {"changes_s", stall ? Detail(stall->value()) : Detail()}});
  }
  return record;
}

std::string replanning_text(const Simulation& simulation) {
  const Report& report = simulation.report;
  std::string windows = report.course.windows.size() > 1 ? windows_table(report) : "";
  const auto& choices = simulation.choices.replan;
  if (!choices && report.course.questions.empty()) return windows;
  if (!choices) {
    return "the model changed " + counted(report.course.questions.size(), "time") + "\n" + questions_table(report) +
           migrations_line(report) + windows;
  }
  const std::string& name = choices->planner->name;
  if (report.course.questions.empty()) {
    const bool has_one_iteration = !report.period && simulation.choices.iterations == 1;
    return fmt::format("{} was never asked for another plan: {}\n", name,
                       has_one_iteration
                           ? "a plan with a flush changes between iterations (--iterations)"
                           : fmt::format("the run has {}, and a window {}",
                                         counted(simulation.microbatches(), "microbatch"), choices->window));
  }
  return fmt::format("{} was asked for another plan {}, and the plan changed {}\n", name,
                     counted(report.course.questions.size(), "time"), counted(report.course.replans.size(), "time")) +
         questions_table(report) + migrations_line(report) + stall_line(report) + redone_line(report) +
         verdict_line(simulation) + windows;
}

std::string replans_line(const Report& report) {
  if (report.course.replans.empty()) return "";
  return fmt::format("the plan changed {}, first at microbatch {}\n", counted(report.course.replans.size(), "time"),
                     report.course.replans.front().microbatch);
}

}  // namespace stagecraft
