#include "experiments/commands/add_option.hpp"
#include "experiments/commands/named_device.hpp"
#include "experiments/commands/plan_inputs.hpp"
#include "experiments/commands/shared_options.hpp"
#include "experiments/commands/verbs.hpp"
#include "experiments/run/inputs.hpp"
#include "experiments/run/judge.hpp"
#include "experiments/run/named_model.hpp"
#include "experiments/run/plan_input.hpp"
#include "experiments/view/description.hpp"
#include "sim/base/error.hpp"
#include "sim/base/text.hpp"
#include "sim/io/architecture_file.hpp"
#include "sim/io/device_file.hpp"
#include "sim/io/file_remarks.hpp"
#include "sim/io/hf_config.hpp"
#include "sim/io/json.hpp"
#include "sim/io/platform_file.hpp"
#include "sim/io/text_file.hpp"
#include "sim/io/yaml_node.hpp"
#include "sim/io/yaml_values.hpp"
#include "sim/schedule/schedule_family.hpp"
#include "sim/workload/catalogue.hpp"

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace stagecraft {
namespace {

struct DescribeOptions {
  std::string file;
  PlanInputOptions inputs;
  ComputedOptions computed;
};

/// The path of the file that `name` means: a path, or else the name of a shipped model or platform. None for the name
/// of a device or a network, of which there is no file.
std::optional<std::string> find_described(const std::string& name) {
  std::error_code ignored;
  const bool is_there = std::filesystem::exists(name, ignored);
  if (is_there && !std::filesystem::is_directory(name, ignored)) return name;
  std::vector<std::string> known;
  for (const char* folder : {"traces", "platforms"}) {
    for (const ShippedFile& file : shipped_files(folder)) {
      if (file.name == name) return file.path;
      known.push_back(file.name);
    }
  }
  if (is_there) throw InputError("expected a file, found a directory", {name, 0, 0, ""});
  const bool has_data = !known.empty();
  if (find_device(name) || (has_data && find_architecture(name))) return std::nullopt;
  for (const WorkloadInfo& device : known_devices()) known.push_back(device.name);
  if (!has_data && !nearest_name(name, known)) known.clear();  // the hint is then that there are no shipped files
  if (has_data) {
    for (const WorkloadInfo& network : known_architectures()) known.push_back(network.name);
  }
  std::string hint;
  if (const auto nearest = nearest_file(name)) hint = "did you mean " + quote(*nearest) + "?";
  throw InputError("no file and no shipped model, platform, device or network is called " + quote(name), {},
                   hint.empty() ? suggest_shipped(name, known) : hint);
}

/// The format that the file's schema names: `model` for `stagecraft/model/1`; `config` for a config.json, without one.
std::string format_of(const FileText& source) {
  const YamlNode root = parse_yaml(source.text, source.path);
  if (is_hf_config(root)) return "config";
  const YamlNode schema = root.at("schema");
  const std::string& text = schema.text();
  for (const char* format : {"model", "platform", "plan", "architecture", "device"}) {
    const std::string prefix = "stagecraft/" + std::string(format) + "/";
    if (!text.starts_with(prefix)) continue;
    check_schema(root, prefix + "1");
    return format;
  }
  schema.fail("only models, platforms, plans, architectures and devices are described, found the schema " +
              quote(text));
}

Description describe_plan_source(const FileText& source, const DescribeOptions& options, const Settings& settings) {
  const Inputs inputs = load_inputs(find_inputs(options.inputs, source), settings);
  const PlanInput input = parse_plan_input(source, inputs, settings.say);
  const auto [program, findings] = judge_plan(input.graph, inputs.platform, input.reading);
  refuse_findings(source.path, "the plan breaks a rule", findings, "stagecraft check lists every violation");
  if (input.reading.plan.schedule.name == "literal") {
    throw InputError("schedule 'literal' needs the file that gives each device's order, which describe does not take",
                     {source.path, 0, 0, ""}, "stagecraft simulate PLAN --schedule-file FILE runs it");
  }
  return describe_plan(input.graph, inputs.platform, *program,
                       evaluate_traffic(input.graph, inputs.platform, *program));
}

/// Refuses options that apply to plans only when the file is none but `is` something else.
void refuse_plan_options(const DescribeOptions& options, const std::string& is) {
  const auto& [given, speeds, set] = options.inputs;
  if (!given.model && !given.platform && speeds.empty() && set.empty()) return;
  const std::string option = given.model      ? "--model"
                             : given.platform ? "--platform"
                             : set.empty()    ? "--speed"
                                              : "--set";
  throw InputError("applies to plans only, but " + quote(options.file) + " " + is, {"", 0, 0, option});
}

/// Refuses options that say how figures are computed when the file has none that are.
void refuse_computed_options(const DescribeOptions& options, const std::string& is) {
  const auto& [precision, sequence, granularity, selective] = options.computed;
  if (!precision && !sequence && !granularity && !selective) return;
  const std::string option = sequence      ? "--sequence"
                             : precision   ? "--precision"
                             : granularity ? "--granularity"
                                           : "--selective-recompute";
  throw InputError("applies to networks and models only, but " + quote(options.file) + " " + is, {"", 0, 0, option});
}

/// Refuses what changes no count of a network.
void refuse_times_of_network(const ComputedOptions& options) {
  if (!options.precision && !options.granularity && !options.selective_recompute) return;
  const std::string option = options.precision     ? "--precision"
                             : options.granularity ? "--granularity"
                                                   : "--selective-recompute";
  throw InputError("the counts of a network do not depend on it", {"", 0, 0, option},
                   "'stagecraft model' computes the times, which do");
}

/// A device in the precision that is given, or a known one in that in which networks are computed for it.
Description describe_device_in(const DeviceDescription& device, const std::string& name, DescribeOptions options) {
  const std::optional<std::string> precision = chosen_precision(name, options.computed.precision);
  options.computed.precision.reset();
  refuse_computed_options(options, "is a device");
  return describe_device(precision ? in_precision(device, *precision) : device);
}

/// A device or a network that the program knows by name.
Description describe_known(const DescribeOptions& options, const ModelChoice& choice, const Settings& settings) {
  const std::optional<DeviceDescription> device = find_device(options.file);
  refuse_plan_options(options, device ? "is a device" : "is a network");
  if (device) return describe_device_in(*device, device->name, options);
  refuse_times_of_network(options.computed);
  settings.say("note: plan, compare and max-batch compute it for the devices of a platform: --model " + options.file);
  return describe_architecture(known_network(options.file, choice));
}

Description describe_config(const FileText& source, const DescribeOptions& options, const ModelChoice& choice,
                            const Settings& settings) {
  refuse_plan_options(options, "is a configuration file");
  refuse_times_of_network(options.computed);
  const HfConfig config = parse_hf_config(source.text, source.path, choice.computed.sequence);
  for (const std::string& note : config.notes) settings.say("note: " + source.path + ": " + note);
  for (const std::string& warning : config.warnings) settings.say("warning: " + source.path + ": " + warning);
  return describe_architecture(config.network);
}

Description describe_architecture_file(const FileText& source, const DescribeOptions& options,
                                       const ModelChoice& choice) {
  refuse_plan_options(options, "is an architecture file");
  refuse_times_of_network(options.computed);
  const std::optional<std::int64_t> sequence = choice.computed.sequence;
  return describe_architecture(sequence ? read_architecture_at(source, *sequence, {}, {"", 0, 0, "--sequence"})
                                        : parse_architecture(source.text, source.path));
}

Description describe(const DescribeOptions& options, const Settings& settings) {
  const ModelChoice choice = read_computed_options(options.computed);
  const std::optional<std::string> path = find_described(options.file);
  if (!path) return describe_known(options, choice, settings);
  FileText source{*path, {}};
  source.text = read_text_file(source.path);
  const std::string format = format_of(source);
  if (format == "config") return describe_config(source, options, choice, settings);
  if (format == "architecture") return describe_architecture_file(source, options, choice);
  const std::string is = "has the schema stagecraft/" + format + "/1";
  if (format != "model" && format != "device") refuse_computed_options(options, is);
  if (format == "plan") return describe_plan_source(source, options, settings);
  refuse_plan_options(options, is);
  tell_remarks(file_remarks(source.text, source.path), settings);
  if (format == "model") return describe_model(load_model({source}, choice, {}, nullptr).model);
  if (format == "platform") {
    DescribedPlatform described = with_device_files(parse_platform(source.text, source.path), source.path);
    tell_remarks(described.remarks, settings);
    return describe_platform(build_platform(std::move(described.spec)));
  }
  return describe_device_in(parse_device(source.text, source.path), source.path, options);
}

VerbAction configure_describe(CLI::App& command) {
  auto options = std::make_shared<DescribeOptions>();
  add_required(command, "FILE", options->file,
               "a file: model, platform, plan, architecture, device or config.json; or the name of a shipped model or "
               "platform, of "
               "a device or a network");
  add_computed_options(command, options->computed);
  add_plan_input_options(command, options->inputs, "for a plan: ");
  return [options](const Settings& settings) {
    const Description description = describe(*options, settings);
    return Answer{.text = description.text, .json = to_json(description.record)};
  };
}

}  // namespace

const Verb describe_verb{
    .name = "describe",
    .summary = "explain a file: devices, links, routes; layers, totals, cuts; stages, memory, traffic",
    .configure = configure_describe,
    .examples = {"stagecraft describe dgx-a100", "stagecraft describe A100-SXM4-80GB", "stagecraft describe plan.yaml"},
};

}  // namespace stagecraft
