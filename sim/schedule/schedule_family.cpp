#include "sim/schedule/schedule_family.hpp"

#include "sim/base/error.hpp"
#include "sim/base/text.hpp"
#include "sim/model/plan.hpp"
#include "sim/schedule/family_table.hpp"
#include "sim/schedule/fixed/fixed_program.hpp"
#include "sim/schedule/kept_plan.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

namespace stagecraft {
namespace {

std::vector<std::string> family_names() {
  std::vector<std::string> names;
  for (const ScheduleFamily* family : all_families()) names.push_back(family->name);
  return names;
}

ScheduleRefusal unknown_schedule(const std::string& name) {
  return {"unknown schedule " + quote(name), suggest_name(name, family_names())};
}

std::string value_text(const Detail& value) {
  if (const auto* text = std::get_if<std::string>(&value.value)) return *text;
  if (const auto* flag = std::get_if<bool>(&value.value)) return *flag ? "true" : "false";
  if (const auto* whole = std::get_if<std::int64_t>(&value.value)) return std::to_string(*whole);
  if (const auto* number = std::get_if<double>(&value.value)) return format_number(*number);
  return std::holds_alternative<std::nullptr_t>(value.value) ? "" : "a list or a map";
}

/// Writes a parameter's value into `values`, or appends the reason why it cannot to `refusals`.
void read_parameter(const ScheduleFamily& family, const std::string& name, const Detail& value,
                    std::map<std::string, OptionValue>& values, ScheduleRefusals& refusals) {
  const std::string of = "schedule " + quote(family.name);
  const auto option = std::ranges::find(family.parameters, name, &OptionInfo::name);
  if (option == family.parameters.end()) {
    std::vector<std::string> known;
    for (const OptionInfo& each : family.parameters) known.push_back(each.name);
    refusals.push_back({"the " + of + " has no parameter " + quote(name), suggest_name(name, known)});
    return;
  }
  const std::string text = value_text(value);
  Parsed<OptionValue> read = read_option(*option, text);
  if (read) {
    values[name] = *std::move(read.value);
    return;
  }
  refusals.push_back(
      {"parameter " + quote(name) + " of " + of + ": expected " + expected_text(*option) + ", found " + quote(text),
       read.problem});
}

struct ReadParameters {
  Options values;
  ScheduleRefusals refusals;
};

ReadParameters read_parameters(const ScheduleFamily& family, const Detail::Record& given) {
  std::map<std::string, OptionValue> values;
  ScheduleRefusals refusals;
  for (const OptionInfo& option : family.parameters) values.emplace(option.name, option.default_value);
  for (const auto& [name, value] : given) read_parameter(family, name, value, values, refusals);
  return {Options(std::move(values)), std::move(refusals)};
}

[[noreturn]] void refuse(const ScheduleRefusal& refusal) { throw InputError(refusal.message, {}, refusal.hint); }

/// Lets the family compile the plan. An InputError that it throws becomes a refusal.
Compilation compile(const ScheduleFamily& family, const PlanContext& context, const Options& parameters) {
  try {
    return family.orders != nullptr ? fixed_program(family, context, parameters) : family.compile(context, parameters);
  } catch (const InputError& error) {
    return ScheduleRefusals{{error.message(), error.hint()}};
  }
}

}  // namespace

Placement straight_placement(std::size_t devices, const Options& /*parameters*/) {
  Placement placement;
  for (std::size_t device = 0; device < devices; ++device) placement.push_back({device, 0});
  return placement;
}

const std::vector<const ScheduleFamily*>& all_families() {
  static const std::vector<const ScheduleFamily*> families = {STAGECRAFT_FAMILY_TABLE};
  return families;
}

const ScheduleFamily* find_family(std::string_view name) {
  const auto& all = all_families();
  const auto found = std::ranges::find(all, name, [](const ScheduleFamily* family) { return family->name; });
  return found == all.end() ? nullptr : *found;
}

const ScheduleFamily& require_family(const std::string& name) {
  const ScheduleFamily* family = find_family(name);
  if (family == nullptr) refuse(unknown_schedule(name));
  return *family;
}

ScheduleRefusals parameter_refusals(const ScheduleFamily& family, const Detail::Record& given) {
  return read_parameters(family, given).refusals;
}

Options schedule_parameters(const ScheduleChoice& choice) {
  ReadParameters read = read_parameters(require_family(choice.name), choice.parameters);
  if (!read.refusals.empty()) refuse(read.refusals.front());
  return std::move(read.values);
}

namespace {

/// Whether the replicas of two plans do the same for a microbatch.
bool do_alike(const Plan& a, const Plan& b) {
  return a.stages == b.stages && a.pipeline_shares == b.pipeline_shares && a.training == b.training &&
         a.rounds_per_update == b.rounds_per_update;
}

/// Members of a group that hold the same parameters sum up their gradients at every update, as replicas do.
ScheduleRefusals group_refusals(const ScheduleFamily& family, const ScheduleProgram& program, const KeptPlan& kept) {
  if (program.synchronous || kept.work->copies() == Copies{}) return {};
  return {{family.name + " does not flush, so its devices cannot divide tokens or experts",
           "a schedule that flushes, such as 1f1b; or context and expert groups of one device"}};
}

/// What of `Training::zero` a compiled plan cannot have.
ScheduleRefusals zero_refusals(const ScheduleFamily& family, const ScheduleProgram& program, const KeptPlan& kept) {
  if (kept.plan.training.zero == 0) return {};
  if (!program.synchronous) {
    return {{family.name + " does not flush, so its replicas cannot divide the optimizer's state (zero)",
             "a schedule that flushes, such as 1f1b; or zero 0"}};
  }
  if (kept.plan.training.zero >= kMostDivided && kept.replicas.pipelines() > 1) {
    return {{"several pipelines cannot divide weights (zero 3)", "zero 2; or replicas of stages in one pipeline"}};
  }
  for (const StageId stage : indices<StageId>(kept.plan.stages.size())) {
    if (kept.replicas.rings_of(stage).size() == 1) continue;
    return {{"pipelines that cut the layers differently cannot divide the optimizer's state (zero)", "zero 0"}};
  }
  return {};
}

/// `known` is the work of the plan's replicas; null: it is not known.
Compilation compile_plan(const LayerGraph& graph, const Platform& platform, const Plan& plan,
                         std::shared_ptr<const PlanWork> known) {
  const ScheduleFamily* family = find_family(plan.schedule.name);
  if (family == nullptr) return ScheduleRefusals{unknown_schedule(plan.schedule.name)};
  ReadParameters read = read_parameters(*family, plan.schedule.parameters);
  if (!read.refusals.empty()) return std::move(read.refusals);
  const auto kept = std::make_shared<KeptPlan>(graph, platform, plan, std::move(known));
  Compilation compiled = compile(*family, {graph, platform, kept->plan, kept->replicas, kept}, read.values);
  if (auto* program = std::get_if<ScheduleProgram>(&compiled)) {
    if (program->synchronous && plan.rounds_per_update != 1) {
      return ScheduleRefusals{
          {family->name + " updates the weights once in an iteration, so it takes no rounds_per_update",
           "the number of microbatches gives the samples of an update"}};
    }
    if (ScheduleRefusals refusals = group_refusals(*family, *program, *kept); !refusals.empty()) return refusals;
    if (ScheduleRefusals refusals = zero_refusals(*family, *program, *kept); !refusals.empty()) return refusals;
    kept->plan.pattern = program->pattern;
    program->kept = kept;
    for (std::size_t s = 0; s < plan.stages.size(); ++s) {
      std::int64_t& versions = program->weight_versions[s];
      versions = plan.stages[s].weight_versions.value_or(versions);
    }
  }
  return compiled;
}

ScheduleProgram require_program(Compilation compiled) {
  if (const auto* refusals = std::get_if<ScheduleRefusals>(&compiled)) refuse(refusals->front());
  return std::get<ScheduleProgram>(std::move(compiled));
}

}  // namespace

Compilation compile_schedule(const LayerGraph& graph, const Platform& platform, const Plan& plan) {
  return compile_plan(graph, platform, plan, nullptr);
}

ScheduleProgram require_schedule(const LayerGraph& graph, const Platform& platform, const Plan& plan) {
  return require_program(compile_schedule(graph, platform, plan));
}

ScheduleProgram recompiled(const LayerGraph& graph, const Platform& platform, ScheduleProgram program,
                           const Plan& plan) {
  if (plan == program.kept->plan) return program;
  const bool is_known = do_alike(plan, program.kept->plan);
  return require_program(compile_plan(graph, platform, plan, is_known ? program.kept->work : nullptr));
}

ScheduleRefusals cap_refusals(const Plan& plan, const std::vector<std::int64_t>& in_flight, const std::string& keeps) {
  for (std::size_t s = 0; s < plan.stages.size(); ++s) {
    const std::optional<std::int64_t>& cap = plan.stages[s].in_flight;
    if (!cap || *cap >= in_flight[s]) continue;
    return {
        {fmt::format("{}{} microbatches of stage {} in flight, more than its cap of {}", keeps, in_flight[s], s, *cap),
         ""}};
  }
  return {};
}

std::string schedule_text(const ScheduleChoice& choice) {
  std::string text = choice.name;
  for (const auto& [name, value] : choice.parameters) text += "," + name + "=" + value_text(value);
  return text;
}

}  // namespace stagecraft
