#include "experiments/commands/import_collectives.hpp"

#include "experiments/measured/collective_fit.hpp"
#include "experiments/measured/collective_view.hpp"
#include "experiments/run/inputs.hpp"
#include "experiments/run/written_file.hpp"
#include "sim/io/import_nccl_tests.hpp"
#include "sim/io/json.hpp"
#include "sim/io/platform_file.hpp"
#include "sim/io/text_file.hpp"

#include <utility>

namespace stagecraft {

Answer import_collectives(const CollectivesImport& import, const Settings& settings) {
  std::vector<std::string> files_read = import.files;
  files_read.push_back(import.platform);
  refuse_overwriting(import.output, OutputKind::PlatformFile, files_read);
  PlatformSpec spec = load_platform_spec(import.platform);
  std::vector<NcclTable> tables;
  for (const std::string& file : import.files) {
    for (NcclTable& table : parse_nccl_tests(read_text_file(file), file)) tables.push_back(std::move(table));
  }
  const CollectiveFit fit = fit_collectives(build_platform(spec), tables);
  for (const std::string& warning : collective_warnings(fit)) settings.say("warning: " + warning);
  Description answer = describe_collective_fit(fit, spec.name);
  if (!import.output) return {.text = answer.text, .json = to_json(answer.record)};
  if (!spec.collectives.table.empty()) {
    settings.say("note: the fitted constants take the place of the platform's table of bandwidths");
  }
  spec.collectives = with_constants(spec.collectives, fit);
  spec.origins.collectives = Origin::Measured;
  spec = written_beside(import.output, std::move(spec), find_input(import.platform, InputKind::Platform));
  const std::string yaml = write_platform(spec);
  const std::string json = to_json(platform_record(spec));
  if (!names_file(import.output)) return {.text = yaml, .json = json};
  write_file_atomically(*import.output, import.output->ends_with(".json") ? json + "\n" : yaml);
  answer.record.emplace_back("file", *import.output);
  return {.text = answer.text + "\nwritten to " + *import.output + "\n", .json = to_json(answer.record)};
}

}  // namespace stagecraft
