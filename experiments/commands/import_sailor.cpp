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

#include <utility>
#include <vector>

namespace stagecraft {
namespace {

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
