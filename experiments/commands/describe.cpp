#include "experiments/commands/add_option.hpp"
#include "experiments/commands/verbs.hpp"
#include "experiments/inputs.hpp"
#include "experiments/judge.hpp"
#include "experiments/option_text.hpp"
#include "experiments/plan_input.hpp"
#include "experiments/report/description.hpp"
#include "sim/analytic/evaluate_plan.hpp"
#include "sim/base/error.hpp"
#include "sim/base/text.hpp"
#include "sim/io/architecture_file.hpp"
#include "sim/io/device_file.hpp"
#include "sim/io/json.hpp"
#include "sim/io/text_file.hpp"
#include "sim/io/yaml_node.hpp"
#include "sim/schedule/schedule_info.hpp"

#include <algorithm>
#include <filesystem>
#include <memory>

namespace stagecraft {
namespace {

struct Options {
  std::string file;
  std::optional<std::string> model;
  std::optional<std::string> platform;
  std::vector<std::string> speeds;
};

bool is_shipped(const std::string& name, const std::string& folder) {
  const std::vector<ShippedFile> files = shipped_files(folder);
  return std::ranges::find(files, name, &ShippedFile::name) != files.end();
}

/// What a file says it is: `model` of `stagecraft/model/1`. A name that is no file is that of a shipped one.
std::string format_of(const std::string& name) {
  std::error_code ignored;
  if (!std::filesystem::exists(name, ignored)) {
    if (is_shipped(name, "traces")) return "model";
    if (is_shipped(name, "platforms")) return "platform";
    std::vector<std::string> known;
    for (const char* folder : {"traces", "platforms"}) {
      for (const ShippedFile& file : shipped_files(folder)) known.push_back(file.name);
    }
    throw InputError("no file, no shipped model and no shipped platform is called " + quote(name), {},
                     suggest_name(name, known));
  }
  const YamlNode schema = parse_yaml(read_text_file(name), name).at("schema");
  const std::string& text = schema.text();
  for (const char* format : {"model", "platform", "plan", "architecture", "device"}) {
    if (text == "stagecraft/" + std::string(format) + "/1") return format;
  }
  schema.fail("only models, platforms, plans, architectures and devices are described, found the schema " +
              quote(text));
}

/// The file of a plan's header unless the user names one.
std::string input_name(const std::optional<std::string>& given, const std::string& header, const std::string& what) {
  if (given) return *given;
  if (header.empty()) throw InputError("the plan does not say for which " + what, {}, "name it with --" + what);
  return header;
}

Description describe_plan_file(const Options& options, const Settings& settings) {
  const PlanHeader header = read_plan_header(options.file);
  const Inputs inputs =
      load_inputs(input_name(options.model, header.model, "model"),
                  input_name(options.platform, header.platform, "platform"), read_speed_options(options.speeds));
  const PlanInput input = load_plan(options.file, inputs, settings.say);
  refuse_findings(options.file, "the plan breaks a rule", judge_plan(input.graph, inputs.platform, input.reading),
                  "stagecraft check lists every violation");
  if (input.reading.plan.schedule.name == literal_schedule.name) {
    throw InputError("schedule 'literal' needs the file that gives each device's order, which describe does not take",
                     {options.file, 0, 0, ""}, "stagecraft simulate PLAN --schedule-file FILE runs it");
  }
  const Plan plan = prepared(input.graph, inputs.platform, input.reading.plan);
  return describe_plan(input.graph, inputs.platform, plan, evaluate_plan(input.graph, inputs.platform, plan));
}

Description describe(const Options& options, const Settings& settings) {
  const std::string format = format_of(options.file);
  if (format == "model") return describe_model(load_model(options.file));
  if (format == "platform") return describe_platform(build_platform(load_platform_spec(options.file)));
  if (format == "architecture") return describe_architecture(read_architecture_file(options.file));
  if (format == "device") return describe_device(read_device_file(options.file));
  return describe_plan_file(options, settings);
}

VerbAction configure(CLI::App& command) {
  auto options = std::make_shared<Options>();
  add_required(command, "FILE", options->file,
               "a model, platform, plan, architecture or device; or a shipped model's or platform's name");
  add_option(command, "--model", options->model, "of a plan: its model; default: the one it names, if shipped");
  add_option(command, "--platform", options->platform,
             "of a plan: its platform; default: the one it names, if shipped");
  add_repeated(command, "--speed", options->speeds, "of a plan: KIND=X, as for simulate; may be repeated");
  return [options](const Settings& settings) {
    const Description description = describe(*options, settings);
    return Answer{.text = description.text, .json = to_json(description.record)};
  };
}

}  // namespace

const Verb describe_verb{
    .name = "describe",
    .summary = "say what a file means: devices, links, routes; layers, totals, cuts; stages, memory, traffic",
    .configure = configure,
};

}  // namespace stagecraft
