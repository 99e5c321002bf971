// The targets that read files.
#include "experiments/run/judge.hpp"
#include "experiments/view/description.hpp"
#include "sim/analytic/evaluate_plan.hpp"
#include "sim/io/architecture_file.hpp"
#include "sim/io/device_file.hpp"
#include "sim/io/events_file.hpp"
#include "sim/io/import_pipedream.hpp"
#include "sim/io/json.hpp"
#include "sim/io/model_file.hpp"
#include "sim/io/plan_file.hpp"
#include "sim/io/platform_file.hpp"
#include "sim/io/schedule_file.hpp"
#include "sim/io/yaml_node.hpp"
#include "sim/io/yaml_text.hpp"
#include "sim/io/yaml_values.hpp"
#include "sim/workload/build_model.hpp"
#include "sim/workload/catalogue.hpp"
#include "tests/fuzz/road.hpp"
#include "tests/fuzz/targets.hpp"

#include <limits>
#include <variant>

namespace stagecraft::fuzz {
namespace {

constexpr std::size_t kManyActions = 10'000;
constexpr std::int64_t kManyMicrobatches = 64;
constexpr std::size_t kManyOperators = 400;

/// Judges, evaluates and describes a plan that names what there is.
void follow(const PlanReading& reading) {
  const std::vector<Finding> findings = judge_plan(toy_graph(), toy_platform(), reading);
  if (!findings.empty() || reading.plan.microbatches > kManyMicrobatches) return;
  takes([&] {
    const TrafficEvaluation evaluation = evaluate_traffic(toy_graph(), toy_platform(), reading.plan);
    check_printable(describe_plan(toy_graph(), toy_platform(), reading.plan, evaluation).text);
    static_cast<void>(memory_findings(evaluation.report, toy_platform()));
  });
}

/// A plan that the toy schedules are judged against and run with.
const Plan& toy_plan() {
  static const Plan kPlan = [] {
    Plan plan;
    plan.microbatch_size = toy_graph().microbatch_size;
    plan.microbatches = 4;
    plan.schedule.name = "literal";
    plan.stages.resize(2);
    plan.stages[0].layers = {LayerId(0), LayerId(1)};
    plan.stages[0].replicas = {DeviceId(0)};
    plan.stages[1].layers = {LayerId(2), LayerId(3)};
    plan.stages[1].replicas = {DeviceId(1)};
    return plan;
  }();
  return kPlan;
}

bool has_many_operators(const Architecture& architecture) { return architecture.operators.size() > kManyOperators; }

/// Two stages of the toy model under way while the events happen.
const Plan& toy_pipeline() {
  static const Plan kPlan = [] {
    Plan plan = toy_plan();
    plan.schedule.name = "1f1b";
    return plan;
  }();
  return kPlan;
}

/// All numbers are finite: JSON has no others.
bool is_finite(const Detail& value) {
  if (const auto* number = std::get_if<double>(&value.value)) {
    return *number >= std::numeric_limits<double>::lowest() && *number <= std::numeric_limits<double>::max();
  }
  if (const auto* list = std::get_if<Detail::List>(&value.value)) {
    for (const Detail& item : *list) {
      if (!is_finite(item)) return false;
    }
  }
  if (const auto* record = std::get_if<Detail::Record>(&value.value)) {
    for (const auto& [name, item] : *record) {
      if (!is_finite(item)) return false;
    }
  }
  return true;
}

}  // namespace

void take_model(std::string_view input) {
  Model model;
  if (takes([&] { model = parse_model(input, "input"); })) follow(model);
}

void take_platform(std::string_view input) {
  PlatformSpec spec;
  if (takes([&] { spec = parse_platform(input, "input"); })) follow(spec);
}

void take_plan(std::string_view input) {
  takes([&] { static_cast<void>(parse_plan_header(input, "input")); });
  PlanReading reading;
  if (!takes([&] { reading = parse_plan(input, "input", toy_graph(), toy_platform()); })) return;
  for (const std::string& text : {write_plan_yaml(reading.plan, toy_graph(), toy_platform()),
                                  plan_to_json(reading.plan, toy_graph(), toy_platform())}) {
    if (!reading.problems.empty()) break;
    const PlanReading again = parse_plan(text, "written", toy_graph(), toy_platform());
    STAGECRAFT_CHECK(again.problems.empty() && again.plan == reading.plan, "a plan reads back");
  }
  follow(reading);
}

void take_schedule(std::string_view input) {
  Schedule schedule;
  if (!takes([&] { schedule = parse_schedule(input, "input", toy_platform()); })) return;
  std::size_t actions = 0;  // a range of millions is a few letters
  for (const DeviceOrder& order : schedule.devices) actions += order.actions.size();
  for (const ChannelOrder& order : schedule.channels) actions += order.actions.size();
  if (actions > kManyActions) return;
  for (const std::string& text :
       {write_schedule_yaml(schedule, toy_platform()), schedule_to_json(schedule, toy_platform())}) {
    STAGECRAFT_CHECK(parse_schedule(text, "written", toy_platform()) == schedule, "a schedule reads back");
  }
  if (!judge_orders(toy_graph(), toy_platform(), toy_plan(), schedule).empty()) return;
  LowerOptions options;
  options.literal = schedule;
  takes([&] { static_cast<void>(evaluate_plan(toy_graph(), toy_platform(), toy_plan(), options)); });
}

void take_events(std::string_view input) {
  std::vector<NamedEvent> events;
  if (!takes([&] { events = parse_events(input, "input"); })) return;
  STAGECRAFT_CHECK(parse_events(write_events(events), "written") == events, "events read back");
  Events resolved;
  if (!takes([&] { resolved = resolve_events(events, toy_platform()); })) return;
  const Report report = evaluate_plan(toy_graph(), toy_platform(), toy_pipeline(), {}, resolved);
  STAGECRAFT_CHECK(report.figures().iteration_time < kNever, "a run with events ends");
}

void take_architecture(std::string_view input) {
  Architecture architecture;
  if (!takes([&] { architecture = parse_architecture(input, "input"); })) return;
  if (has_many_operators(architecture)) return;
  for (const Granularity granularity : {Granularity::Layer, Granularity::Residual, Granularity::Block}) {
    Model model;
    if (takes([&] { model = build_model(architecture, *find_device("V100-SXM2-16GB"), 2, granularity); })) {
      fuzz::follow(model);
    }
  }
}

void take_device(std::string_view input) {
  static const Architecture kNetwork = *find_architecture("vgg16");
  DeviceDescription device;
  if (!takes([&] { device = parse_device(input, "input"); })) return;
  Model model;
  if (takes([&] { model = build_model(kNetwork, device, 2, Granularity::Block); })) fuzz::follow(model);
}

void take_pipedream(std::string_view input) {
  Model model;
  if (takes([&] { model = import_pipedream(input, "input.txt", 4, "A"); })) fuzz::follow(model);
}

void take_document(std::string_view input) {
  constexpr std::size_t kMostToReadBack = 1 << 20;
  Detail value;
  if (!takes([&] { value = read_detail(parse_yaml(input, "input")); }) || !is_finite(value)) return;
  const std::string json = to_json(value);
  if (json.size() > kMostToReadBack) return;  // aliases make much of little, as they may; reading that takes its time
  STAGECRAFT_CHECK(read_detail(parse_yaml(json, "written")) == value, "a value reads back from JSON");
  if (const auto* record = std::get_if<Detail::Record>(&value.value)) {
    STAGECRAFT_CHECK(read_detail(parse_yaml(to_yaml(*record), "written")) == value, "a value reads back from YAML");
  }
}

}  // namespace stagecraft::fuzz
