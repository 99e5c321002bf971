#include "sim/schedule/schedule_info.hpp"

#include "sim/base/error.hpp"
#include "sim/base/text.hpp"

#include <algorithm>

namespace stagecraft {
namespace {

constexpr Seconds kLongestPeriod(1e6);

const ScheduleInfo& info_of(const ScheduleChoice& choice) {
  const ScheduleInfo* schedule = find_schedule(choice.name);
  STAGECRAFT_CHECK(schedule != nullptr, "the schedule is known");
  return *schedule;
}

std::string value_text(const Detail& value) {
  if (const auto* text = std::get_if<std::string>(&value.value)) return *text;
  if (const auto* flag = std::get_if<bool>(&value.value)) return *flag ? "true" : "false";
  if (const auto* whole = std::get_if<std::int64_t>(&value.value)) return std::to_string(*whole);
  if (const auto* number = std::get_if<double>(&value.value)) return format_number(*number);
  return std::holds_alternative<std::nullptr_t>(value.value) ? "" : "a list or a map";
}

}  // namespace

const std::vector<const ScheduleInfo*>& all_schedules() {
  static const std::vector<const ScheduleInfo*> schedules = {
      &one_f_one_b_schedule, &one_f_one_b_star_schedule, &eager_one_f_one_b_schedule,
      &gpipe_schedule,       &literal_schedule,          &pipedream_schedule,
      &spp_pe_schedule};
  return schedules;
}

const ScheduleInfo* find_schedule(std::string_view name) {
  const auto& all = all_schedules();
  const auto found = std::ranges::find(all, name, [](const ScheduleInfo* info) { return info->name; });
  return found == all.end() ? nullptr : *found;
}

std::int64_t weight_versions(const Plan& plan, StageId stage) {
  if (plan.stages[stage.value()].weight_versions) return *plan.stages[stage.value()].weight_versions;
  return info_of(plan.schedule).weight_versions(plan, stage);
}

std::int64_t in_flight(const Plan& plan, StageId stage) { return info_of(plan.schedule).in_flight(plan, stage); }

Plan prepared(const LayerGraph& graph, const Platform& platform, Plan plan) {
  const ScheduleInfo& schedule = info_of(plan.schedule);
  if (schedule.prepare == nullptr) return plan;
  for (const auto& [name, value] : plan.schedule.parameters) {
    if (parameter_problem(schedule, name, value)) return plan;
  }
  if (schedule.problem != nullptr && schedule.problem(plan)) return plan;
  return schedule.prepare(graph, platform, std::move(plan));
}

bool runs_pattern(const Plan& plan) { return plan.pattern.has_value() && info_of(plan.schedule).runs_pattern; }

std::string type_name(const ScheduleParameter& parameter) {
  std::string joined = parameter.takes_time ? "time" : "";
  for (const std::string& choice : parameter.choices) joined += (joined.empty() ? "" : "|") + choice;
  return joined;
}

std::optional<ParameterProblem> parameter_problem(const ScheduleInfo& schedule, const std::string& name,
                                                  const Detail& value) {
  const std::string of = "schedule " + quote(schedule.name);
  const auto parameter = std::ranges::find(schedule.parameters, name, &ScheduleParameter::name);
  if (parameter == schedule.parameters.end()) {
    std::vector<std::string> known;
    for (const ScheduleParameter& each : schedule.parameters) known.emplace_back(each.name);
    return ParameterProblem{"the " + of + " has no parameter " + quote(name), suggest_name(name, known)};
  }
  const std::string text = value_text(value);
  if (std::ranges::find(parameter->choices, text) != parameter->choices.end()) return std::nullopt;
  std::string hint;
  if (parameter->takes_time) {
    const Parsed<Seconds> time = parse_seconds(text);
    if (time && *time.value > Seconds(0) && *time.value <= kLongestPeriod) return std::nullopt;
    hint = time ? "a time is more than zero and at most " + format_seconds(kLongestPeriod) : time.problem;
  }
  return ParameterProblem{
      "parameter " + quote(name) + " of " + of + ": expected " + type_name(*parameter) + ", found " + quote(text),
      hint};
}

std::string parameter(const ScheduleChoice& choice, std::string_view name) {
  const auto given = std::ranges::find(choice.parameters, name, &std::pair<std::string, Detail>::first);
  if (given != choice.parameters.end()) return value_text(given->second);
  const auto& table = info_of(choice).parameters;
  const auto found = std::ranges::find(table, name, &ScheduleParameter::name);
  STAGECRAFT_CHECK(found != table.end(), "a parameter of the schedule's table");
  return value_text(found->default_value);
}

std::string schedule_text(const ScheduleChoice& choice) {
  std::string text = choice.name;
  for (const auto& [name, value] : choice.parameters) text += "," + name + "=" + value_text(value);
  return text;
}

}  // namespace stagecraft
