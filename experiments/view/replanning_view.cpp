#include "experiments/view/replanning_view.hpp"

#include "experiments/view/table.hpp"
#include "sim/base/counted.hpp"
#include "sim/base/text.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

namespace stagecraft {
namespace {

constexpr std::size_t kQuestionsShown = 20;

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

Detail::List question_list(const Report& report, const LayerGraph& graph, const Platform& platform) {
  Detail::List list;
  for (const ReplanQuestion& question : report.questions) {
    Detail::List stages;
    for (const FollowingStage& stage : question.stages) stages.push_back(stage_record(stage, graph, platform));
    list.emplace_back(Detail::Record{{"asked_by", to_string(question.cause)},
                                     {"microbatch", std::int64_t{question.microbatch}},
                                     {"at_s", question.at.value()},
                                     {"reason", question.reason},
                                     {"keeping_s", time_or_null(question.keeping)},
                                     {"changing_s", time_or_null(question.changing)},
                                     {"changes_at", question.first ? Detail(std::int64_t{*question.first}) : Detail()},
                                     {"stages", question.first ? Detail(std::move(stages)) : Detail()}});
  }
  return list;
}

Detail::List replan_list(const Report& report) {
  Detail::List list;
  for (const Replan& replan : report.replans) {
    list.emplace_back(Detail::Record{{"microbatch", std::int64_t{replan.microbatch}}, {"at_s", replan.at.value()}});
  }
  return list;
}

Detail::List migration_list(const Report& report, const Platform& platform) {
  Detail::List list;
  for (const Migration& migration : report.migrations) {
    list.emplace_back(Detail::Record{{"stage", std::int64_t{migration.stage.value()}},
                                     {"from", platform.place_name(migration.from)},
                                     {"to", platform.place_name(migration.to)},
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
  for (const ReplanQuestion& question : report.questions) {
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

std::string migrations_line(const Report& report) {
  if (report.migrations.empty()) return "";
  Bytes bytes;
  Seconds longest;
  for (const Migration& migration : report.migrations) {
    bytes += migration.bytes;
    longest = std::max(longest, migration.end - migration.start);
  }
  return fmt::format("moved: {} in {}, of which the longest took {}\n", format_human_bytes(bytes),
                     counted(report.migrations.size(), "transfer"), format_human_seconds(longest));
}

}  // namespace

Detail::Record replanning_record(const Report& report, const LayerGraph& graph, const Platform& platform) {
  Detail::Record record;
  if (!report.questions.empty()) record.emplace_back("questions", question_list(report, graph, platform));
  if (!report.replans.empty()) record.emplace_back("replans", replan_list(report));
  if (!report.migrations.empty()) record.emplace_back("migrations", migration_list(report, platform));
  return record;
}

std::string replanning_text(const Simulation& simulation) {
  const auto& choices = simulation.choices.replan;
  if (!choices) return "";
  const Report& report = simulation.report;
  const std::string head = choices->planner->name + " was asked for another plan ";
  if (report.questions.empty()) {
    return fmt::format("{}never: the run has {}, and a window {}\n", head,
                       counted(simulation.microbatches(), "microbatch"), choices->window);
  }
  return fmt::format("{}{}, and the plan changed {}\n{}{}", head, counted(report.questions.size(), "time"),
                     counted(report.replans.size(), "time"), questions_table(report), migrations_line(report));
}

std::string replans_line(const Report& report) {
  if (report.replans.empty()) return "";
  return fmt::format("the plan changed {}, first at microbatch {}\n", counted(report.replans.size(), "time"),
                     report.replans.front().microbatch);
}

}  // namespace stagecraft
