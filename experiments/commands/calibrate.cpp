#include "experiments/calibrate/calibration.hpp"
#include "experiments/calibrate/calibration_view.hpp"
#include "experiments/commands/add_option.hpp"
#include "experiments/commands/named_device.hpp"
#include "experiments/commands/shared_options.hpp"
#include "experiments/commands/verbs.hpp"
#include "experiments/run/inputs.hpp"
#include "experiments/run/option_text.hpp"
#include "experiments/run/written_file.hpp"
#include "sim/base/error.hpp"
#include "sim/base/text.hpp"
#include "sim/io/device_file.hpp"
#include "sim/io/json.hpp"
#include "sim/io/text_file.hpp"
#include "sim/io/yaml_values.hpp"
#include "sim/workload/catalogue.hpp"

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace stagecraft {
namespace {

struct CalibrateOptions {
  std::string file;
  std::string platform;
  std::optional<std::string> device;
  std::optional<std::string> precision;
  std::optional<std::string> fit;
  std::optional<std::string> output;
};

/// The kind of all devices of the platform.
std::string kind_of(const Platform& platform) {
  const std::string& name = platform.kind(DeviceId(0)).name;
  for (const DeviceId device : indices(platform.devices)) {
    if (platform.kind(device).name == name) continue;
    throw InputError("the platform " + quote(platform.spec.name) + " has several kinds of devices", {},
                     "the constants of one kind are fitted: give a platform that has only the devices of the steps");
  }
  return name;
}

/// The device whose constants are fitted, with the name that the platform has for it: its file is then found there.
DeviceDescription start_device(const CalibrateOptions& options, const std::string& kind, const Settings& settings) {
  if (!options.device && !find_device(kind)) {
    throw InputError("--device is required", {},
                     "the platform's kind " + quote(kind) +
                         " is not known by name; give the nearest known one, or a "
                         "device file");
  }
  const std::string name = options.device.value_or(kind);
  DeviceDescription device = load_device(name, settings);
  if (const auto precision = chosen_precision(name, options.precision)) device = in_precision(device, *precision);
  device.name = kind;
  return device;
}

std::vector<std::string> constants_to_fit(const CalibrateOptions& options, const DeviceDescription& device) {
  std::vector<std::string> known;
  for (const DeviceConstant& constant : all_device_constants()) known.push_back(constant.name);
  std::vector<std::string> names;
  if (options.fit) {
    for (const std::string& item : read_list_option("--fit", *options.fit)) {
      names.push_back(read_choice_option("--fit", item, known));
      if (std::ranges::count(names, item) == 1) continue;
      throw InputError(quote(item) + " is given twice", {"", 0, 0, "--fit"});
    }
    return names;
  }
  for (const DeviceConstant& constant : all_device_constants()) {
    const bool is_usual = std::ranges::find(usual_constants(), constant.name) != usual_constants().end();
    if (is_usual && constant.get(device) > 0) names.push_back(constant.name);
  }
  return names;
}

Answer answer_calibrate(const CalibrateOptions& options, const Settings& settings) {
  std::vector<std::string> files_read{options.file, options.platform};
  if (options.device) files_read.push_back(*options.device);
  refuse_overwriting(options.output, OutputKind::DeviceFile, files_read);
  const Platform platform = build_platform(load_platform_spec(options.platform));
  const DeviceDescription device = start_device(options, kind_of(platform), settings);
  const std::vector<std::string> names = constants_to_fit(options, device);
  const std::vector<MeasuredStep> steps = parse_measured_steps(read_text_file(options.file), options.file).steps;
  const Calibration calibration = calibrate(device, platform, steps, names);
  tell_remarks(calibration.remarks, settings);
  for (const std::string& warning : calibration_warnings(calibration)) settings.say("warning: " + warning);
  Description answer = describe_calibration(calibration, options.file);
  if (!options.output) return {.text = answer.text, .json = to_json(answer.record)};
  const std::string yaml = write_device(fitted_device(calibration, options.file));
  const std::string json = to_json(read_detail(parse_yaml(yaml, "device")));
  if (!names_file(options.output)) return {.text = yaml, .json = json};
  write_file_atomically(*options.output, options.output->ends_with(".json") ? json + "\n" : yaml);
  answer.record.emplace_back("file", *options.output);
  return {.text = answer.text + "\nwritten to " + *options.output + "\n", .json = to_json(answer.record)};
}

VerbAction configure_calibrate(CLI::App& command) {
  auto options = std::make_shared<CalibrateOptions>();
  add_required(command, "MEASUREMENTS", options->file, "a table of measured steps, as CSV");
  add_required(command, "--platform", options->platform,
               "the platform that they ran on, with devices of one kind: a file, or the name of a shipped one");
  add_option(command, "--device", options->device,
             "where the constants start: a name from 'stagecraft list devices', or a device file; default: the "
             "platform's kind");
  add_option(command, "--precision", options->precision,
             "fp32, tf32, bf16, fp16 or fp8: the mode that the steps ran in; default: bf16 or else fp16 where a known "
             "device has it, or else that of the device file");
  add_option(command, "--fit", options->fit,
             "NAME,...: the constants to fit, by their keys in a device file: convolution, linear, fp8, matmul, "
             "attention, memory, fill, whole_waves, odd_rows, launch_overhead, launch, jitter, loss_traffic; default: "
             "linear,memory,launch_overhead,launch, as far as the device has them");
  add_option(command, "-o,--output", options->output,
             "write the device with the constants to this file, as JSON if its name ends in .json");
  return [options](const Settings& settings) { return answer_calibrate(*options, settings); };
}

}  // namespace

const Verb calibrate_verb{
    .name = "calibrate",
    .summary = "fit the constants of a device to measured steps; print residuals and how sure each constant is",
    .configure = configure_calibrate,
    .examples = {"stagecraft calibrate steps.csv --platform dgx-a100 -o device.yaml"},
};

}  // namespace stagecraft
