#include "experiments/commands/add_option.hpp"
#include "experiments/commands/measured_site_device.hpp"
#include "experiments/commands/shared_options.hpp"
#include "experiments/commands/verbs.hpp"
#include "experiments/measured/calibration.hpp"
#include "experiments/measured/calibration_view.hpp"
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
  SiteOptions site;
  std::optional<std::string> fit;
  std::optional<std::string> output;
};

/// The site of all steps.
MeasuredSite only_site(const std::vector<MeasuredStep>& steps, const CalibrateOptions& options) {
  std::vector<MeasuredSite> sites = measured_sites(steps, options.site.defaults);
  if (sites.size() == 1) return std::move(sites.front());
  throw InputError("the steps ran on several platforms or in several precisions", sites[1].steps.front().place,
                   "the constants of a device are fitted in one precision: give a table for each");
}

std::vector<std::string> constants_of(const std::string& fit) {
  std::vector<std::string> known;
  for (const DeviceConstant& constant : all_device_constants()) known.push_back(constant.name);
  std::vector<std::string> names;
  for (const std::string& item : read_list_option("--fit", fit)) {
    names.push_back(read_choice_option("--fit", item, known));
    if (std::ranges::count(names, item) == 1) continue;
    throw InputError(quote(item) + " is given twice", {"", 0, 0, "--fit"});
  }
  return names;
}

Answer answer_calibrate(const CalibrateOptions& options, const Settings& settings) {
  const MeasuredSite site = only_site(parse_measured_steps(read_text_file(options.file), options.file).steps, options);
  refuse_overwriting(options.output, OutputKind::DeviceFile, files_read_by({options.file}, {site}, options.site));
  const DescribedPlatform described = load_described_platform(site.platform);
  tell_remarks(described.remarks, settings);
  const DeviceDescription device = device_of_site(site, described, options.site.device, settings);
  const Platform platform = build_platform(described.spec);
  const Calibration calibration = options.fit ? calibrate(device, platform, site.steps, constants_of(*options.fit))
                                              : calibrate_usual(device, platform, site.steps);
  tell_remarks(calibration.remarks, settings);
  for (const LeftConstant& left : calibration.left) {
    settings.say("note: " + quote(left.name) + " stays as it was: " + left.reason);
  }
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
  add_site_options(command, options->site, "where the constants start");
  add_option(command, "--fit", options->fit,
             "NAME,...: the constants to fit, by their keys in a device file: convolution, linear, fp8, matmul, "
             "attention, memory, fill, whole_waves, odd_rows, launch_overhead, launch, jitter, loss_traffic; default: "
             "linear,memory,launch_overhead,launch, as far as the steps determine them");
  add_option(command, "-o,--output", options->output,
             "write the device with the constants to this file, as JSON if its name ends in .json");
  return [options](const Settings& settings) { return answer_calibrate(*options, settings); };
}

}  // namespace

const Verb calibrate_verb{
    .name = "calibrate",
    .summary = "fit the constants of a device to measured steps; print residuals and how sure each constant is",
    .configure = configure_calibrate,
    .examples = {"stagecraft calibrate steps.csv -o device.yaml"},
};

}  // namespace stagecraft
