#include "experiments/commands/import_sailor.hpp"

#include "experiments/commands/import_model.hpp"
#include "experiments/commands/model_answer.hpp"
#include "experiments/run/named_model.hpp"
#include "experiments/run/option_text.hpp"
#include "experiments/run/written_file.hpp"
#include "sim/base/error.hpp"
#include "sim/base/text.hpp"
#include "sim/io/architecture_file.hpp"
#include "sim/io/hf_config.hpp"
#include "sim/io/import_sailor.hpp"
#include "sim/io/text_file.hpp"
#include "sim/io/yaml_node.hpp"
#include "sim/model/degrees.hpp"

#include <cstdint>
#include <utility>
#include <vector>

namespace stagecraft {
namespace {

/// The times of a group's member contain what the group exchanges, and a model file has no place for groups.
void refuse_groups(const std::optional<std::string>& tensor) {
  const std::int64_t degree = read_count_option("--tensor", tensor, 1, kMostInGroup).value_or(1);
  if (degree == 1) return;
  throw InputError("a model file is of one device, and times of a member of a group of " + std::to_string(degree) +
                       " contain what the group exchanges",
                   {"", 0, 0, "--tensor"}, "leave it out; tensor groups need a network whose figures are computed");
}

Precision read_profiled_precision(const std::optional<std::string>& text) {
  std::vector<std::string> names;
  for (const Precision known : kAllPrecisions) names.emplace_back(to_string(known));
  return *precision_of(read_choice_option("--precision", text.value_or(to_string(Precision::Fp32)), names));
}

/// Shows what is read of a configuration file otherwise than written.
Architecture read_profiled_network(const std::string& name, const Settings& settings) {
  const ModelSource source = find_model(name, {});
  if (source.is_network) return known_network(name, {});
  const FileText& file = source.file;
  if (!is_description(file)) {
    throw InputError(quote(name) + " is no network", {"", 0, 0, "--model"},
                     "give a name from 'stagecraft list architectures', an architecture file or a config.json");
  }
  if (!is_hf_config(parse_yaml(file.text, file.path))) return parse_architecture(file.text, file.path);
  HfConfig config = parse_hf_config(file.text, file.path);
  for (const std::string& note : config.notes) settings.say("note: " + file.path + ": " + note);
  for (const std::string& warning : config.warnings) settings.say("warning: " + file.path + ": " + warning);
  return std::move(config.network);
}

}  // namespace

Answer import_sailor_profile(const SailorImport& import, const Settings& settings) {
  const std::string device = read_name_option("--device", import.device);
  const Precision precision = read_profiled_precision(import.precision);
  refuse_groups(import.tensor);
  refuse_overwriting(import.output, OutputKind::ModelFile, {import.file, import.model});
  const SailorRun run{read_profiled_network(import.model, settings), device, precision};
  const SailorProfile profile = import_sailor(read_text_file(import.file), import.file, run);
  Answer answer = model_answer(profile.model, import.output);
  if (profile.lacks_last_products) {
    settings.say(
        "warning: the last layer takes too little time for the product with the table of words; the profile leaves it "
        "out, as Sailor does where the first layer has the same table");
  }
  if (profile.has_further_degrees) tell_left_out_degrees(settings);
  return answer;
}

}  // namespace stagecraft
