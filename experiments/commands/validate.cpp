#include "experiments/commands/add_option.hpp"
#include "experiments/commands/measured_site_device.hpp"
#include "experiments/commands/saved_steps.hpp"
#include "experiments/commands/shared_options.hpp"
#include "experiments/commands/verbs.hpp"
#include "experiments/measured/step_network.hpp"
#include "experiments/measured/validation_view.hpp"
#include "experiments/run/inputs.hpp"
#include "experiments/run/named_model.hpp"
#include "experiments/run/written_file.hpp"
#include "sim/base/error.hpp"
#include "sim/base/text.hpp"
#include "sim/io/json.hpp"
#include "sim/io/text_file.hpp"

#include <filesystem>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace stagecraft {
namespace {

struct ValidateOptions {
  std::vector<std::string> files;
  SiteOptions site;
  std::vector<std::string> outputs;
  std::optional<std::string> save;
};

/// The tables, site by site.
struct SitesOfTables {
  std::vector<MeasuredSite> sites;
  std::vector<LeftOutStep> left_out;
};

SitesOfTables read_tables(const ValidateOptions& options) {
  SitesOfTables read;
  for (const std::string& file : options.files) {
    MeasuredTable table = parse_measured_steps(read_text_file(file), file);
    for (MeasuredSite& site : measured_sites(table.steps, options.site.defaults)) {
      read.sites.push_back(std::move(site));
    }
    read.left_out.insert(read.left_out.end(), table.left_out.begin(), table.left_out.end());
  }
  return read;
}

void refuse_output(const ValidateOptions& options, const std::vector<std::string>& files_read) {
  if (options.save && options.site.device) {
    throw InputError("the commands simulate with the devices of the platform", {"", 0, 0, "--save"},
                     "leave out --device, or --save");
  }
  if (options.save && options.save->empty())
    throw InputError("expected the name of a folder, found nothing", {"", 0, 0, "--save"});
  for (const std::string& output : options.outputs) {
    if (!output.ends_with(".csv") && !output.ends_with(".svg")) {
      throw InputError("expected a name that ends in .csv or .svg", {output, 0, 0, "--output"},
                       "a table of the predictions, or a picture");
    }
    refuse_overwriting(output, OutputKind::Validation, files_read);
  }
}

/// Where the plans of a site are saved: each of several has a folder of its own.
std::string folder_of(const Validation& validation, const std::string& save, bool is_one_of_several) {
  if (!is_one_of_several) return save;
  const std::string table = std::filesystem::path(validation.site.table).stem().string();
  return save + "/" + table + "-" + validation.platform + "-" + to_string(validation.device.precision);
}

/// Saves the plans of all sites, after all folders were judged, and returns the files that simulate them.
std::vector<std::string> save_sites(const std::vector<Validation>& validations, const std::vector<Platform>& platforms,
                                    const std::string& save, std::vector<std::string> files_read) {
  std::set<std::string> folders;
  for (const Validation& each : validations) {
    const std::string folder = folder_of(each, save, validations.size() > 1);
    if (!folders.insert(folder).second) {
      throw InputError("the plans of two tables would be in " + quote(folder), {"", 0, 0, "--save"},
                       "give the tables names that differ, or validate one at a time");
    }
    for (const MeasuredStep& step : each.site.steps) {
      if (!is_network(step.model)) files_read.push_back(network_file(step).path);
    }
  }
  std::vector<PlanFolder> plans;
  for (const Validation& each : validations)
    plans.push_back(folder_for_steps(each.site, folder_of(each, save, validations.size() > 1), files_read));
  std::vector<std::string> saved;
  for (std::size_t i = 0; i < plans.size(); ++i) saved.push_back(save_steps(validations[i], platforms[i], plans[i]));
  return saved;
}

Answer answer_validate(const ValidateOptions& options, const Settings& settings) {
  const SitesOfTables read = read_tables(options);
  const std::vector<std::string> files_read = files_read_by(options.files, read.sites, options.site);
  refuse_output(options, files_read);
  std::vector<Validation> validations;
  std::vector<Platform> platforms;
  for (const MeasuredSite& site : read.sites) {
    const DescribedPlatform described = load_described_platform(site.platform);
    tell_remarks(described.remarks, settings);
    const DeviceDescription device = device_of_site(site, described, options.site.device, settings);
    platforms.push_back(build_platform(described.spec));
    validations.push_back(validate(site, platforms.back(), device));
    tell_remarks(validations.back().remarks, settings);
  }
  std::vector<std::string> saved;
  if (options.save) saved = save_sites(validations, platforms, *options.save, files_read);
  Description answer = describe_validations(validations, read.left_out);
  for (const std::string& file : saved) answer.text += "\n" + file + " simulates the plans beside it\n";
  Detail::List written;
  for (const std::string& output : options.outputs) {
    const bool is_picture = output.ends_with(".svg");
    write_file_atomically(output, is_picture ? validation_picture(validations) : validation_csv(validations));
    answer.text += "\nwritten to " + output + "\n";
    written.emplace_back(output);
  }
  if (!written.empty()) answer.record.emplace_back("files", written);
  return {.text = answer.text, .json = to_json(answer.record)};
}

VerbAction configure_validate(CLI::App& command) {
  auto options = std::make_shared<ValidateOptions>();
  add_required_list(command, "MEASUREMENTS", options->files, "tables of measured steps, as CSV");
  add_site_options(command, options->site, "the device that computed them");
  add_repeated(
      command, "-o,--output", options->outputs,
      "write the predictions to this file: a table if its name ends in .csv, a picture if in .svg; may be given "
      "for both");
  add_option(command, "--save", options->save,
             "write the plan of each step to this folder, and commands that simulate them");
  return [options](const Settings& settings) { return answer_validate(*options, settings); };
}

}  // namespace

const Verb validate_verb{
    .name = "validate",
    .summary = "predict measured steps; print how far off the predictions are, beside a plain formula's",
    .configure = configure_validate,
    .examples = {"stagecraft validate steps.csv", "stagecraft validate steps.csv -o predicted.csv -o predicted.svg"},
};

}  // namespace stagecraft
