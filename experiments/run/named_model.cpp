#include "experiments/run/named_model.hpp"

#include "sim/base/error.hpp"
#include "sim/base/text.hpp"
#include "sim/io/architecture_file.hpp"
#include "sim/io/hf_config.hpp"
#include "sim/io/model_file.hpp"
#include "sim/io/plan_computed.hpp"
#include "sim/io/text_file.hpp"
#include "sim/io/yaml_node.hpp"
#include "sim/io/yaml_text.hpp"
#include "sim/model/platform.hpp"
#include "sim/workload/catalogue.hpp"
#include "sim/workload/computed_profiles.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <utility>

namespace stagecraft {
namespace {

/// Where a network comes from, which decides how the command `model` takes it.
enum class NetworkFrom { Catalogue, Architecture, Config };

struct NetworkName {
  std::string name;  ///< of a network, or the path of a file
  NetworkFrom from = NetworkFrom::Catalogue;
};

constexpr const char* kArchitectureSchema = "stagecraft/architecture/";
constexpr const char* kModelSchema = "stagecraft/model/";
constexpr const char* kFormsOfModels =
    "a file is a model file, an architecture file, or a config.json with 'model_type'";

bool is_architecture(const FileText& file) {
  if (file.text.find(kArchitectureSchema) == std::string::npos) return false;
  const YamlNode root = parse_yaml(file.text, file.path);
  const auto schema = root.kind() == YamlKind::Map ? root.find("schema") : std::nullopt;
  return schema && schema->kind() == YamlKind::Text && schema->text().starts_with(kArchitectureSchema);
}

bool is_config(const FileText& file) {
  const bool has_key = file.text.find("model_type") != std::string::npos;
  if (!has_key && file.text.find("layer_num") == std::string::npos) return false;
  return is_hf_config(parse_yaml(file.text, file.path));
}

/// Where a choice is made: an option, or a key of a plan.
InputPlace place_of(const ModelChoice& by, const std::string& key) { return {by.file, 0, 0, by.prefix + key}; }

/// Throws again what concerns a choice, at the option or key that makes it.
[[noreturn]] void refuse_choice(const InputError& error, const ModelChoice& choice, const std::string& key) {
  throw InputError(error.message(), place_of(choice, key), error.hint());
}

/// The names of the kinds of the platform's devices, in the order of the devices.
std::vector<std::string> kinds_of(const PlatformSpec& spec) {
  const Platform platform = build_platform(spec);
  std::vector<std::string> kinds;
  for (const DeviceId device : indices(platform.devices)) {
    const std::string& kind = platform.kind(device).name;
    if (std::ranges::find(kinds, kind) == kinds.end()) kinds.push_back(kind);
  }
  return kinds;
}

/// Those that have a device file, or that the catalogue knows.
std::vector<DeviceDescription> known_kinds(const DescribedPlatform& platform) {
  std::vector<DeviceDescription> known;
  for (const std::string& kind : kinds_of(platform.spec)) {
    if (auto device = find_device(kind, platform.devices)) known.push_back(*std::move(device));
  }
  return known;
}

/// The kinds of the catalogue that a kind of the platform may mean, as a question; empty if it has none like that.
std::string kinds_meant(const PlatformSpec& platform) {
  for (const std::string& kind : kinds_of(platform)) {
    std::string meant;
    for (const std::string& known : devices_like(kind)) meant += (meant.empty() ? "" : " or ") + quote(known);
    if (!meant.empty()) return "did you mean " + meant + " by the kind " + quote(kind) + "? ";
  }
  return {};
}

/// Says how the platform may name a kind of the catalogue, or else which command computes for another kind.
[[noreturn]] void refuse_kinds(const NetworkName& network, const PlatformSpec& platform) {
  const std::string meant = kinds_meant(platform);
  const std::string output = network.from == NetworkFrom::Catalogue ? network.name + ".yaml" : "model.yaml";
  const std::string option = network.from == NetworkFrom::Config ? "--config " : "";
  throw InputError("the platform " + quote(platform.name) + " has no kind of device of the catalogue, for which " +
                       quote(network.name) + " could be computed",
                   {},
                   meant + "'stagecraft model " + option + network.name + " --device FILE --microbatch-size B -o " +
                       output + "' computes it for a device of your own" +
                       (meant.empty() ? "; known: see 'stagecraft list devices'" : ""));
}

bool has(const DeviceDescription& device, Precision precision) {
  return rate_in(device, precision) > FlopsPerSecond(0);
}

/// A plan names a device that the platform described when it was made.
DeviceDescription device_of_choice(const ModelChoice& given, const std::string& name,
                                   const DescribedPlatform& platform) {
  if (auto device = find_device(name, platform.devices)) return *std::move(device);
  std::vector<std::string> known;
  for (const DeviceDescription& device : platform.devices) known.push_back(device.name);
  for (const WorkloadInfo& device : known_devices()) known.push_back(device.name);
  refuse_choice(InputError("neither the platform nor the catalogue describes a device " + quote(name), {},
                           suggest_name(name, known)),
                given, "device");
}

/// The choice with a device, a precision and a granularity for the platform.
ComputedChoice completed(const NetworkName& network, const ModelChoice& given, const DescribedPlatform& platform) {
  ComputedChoice choice = given.computed;
  const std::vector<DeviceDescription> kinds = known_kinds(platform);
  if (choice.device.empty()) {
    if (kinds.empty()) refuse_kinds(network, platform.spec);
    choice.device = kinds.front().name;
  }
  const DeviceDescription device = device_of_choice(given, choice.device, platform);
  if (choice.precision) {
    try {
      static_cast<void>(peak(device, *precision_of(*choice.precision)));
    } catch (const InputError& error) {
      refuse_choice(error, given, "precision");
    }
  } else {
    choice.precision = usual_precision(device, kinds);
  }
  if (!choice.granularity) choice.granularity = to_string(Granularity::Layer);
  return choice;
}

std::string remark_on(const Architecture& network, const LayerGraph& graph, const ComputedChoice& choice) {
  const std::string recompute =
      choice.selective_recompute.value_or(false) ? "; " + recompute_remark(network) : std::string();
  return network.name + " is computed for " + graph.device_kind + " in " + graph.precision + ": " + network.summary +
         recompute;
}

/// The network as the choice has its figures computed.
Architecture computed_network(Architecture network, const ComputedChoice& choice) {
  return choice.selective_recompute.value_or(false) ? with_selective_recompute(std::move(network)) : network;
}

/// The model file without figures that stands for a network known by name.
std::string text_of(const ComputedChoice& choice) {
  Detail::Record computed{{"architecture", choice.architecture}};
  if (choice.sequence) computed.emplace_back("sequence", *choice.sequence);
  if (choice.precision) computed.emplace_back("precision", *choice.precision);
  computed.emplace_back("granularity", *choice.granularity);
  if (choice.selective_recompute) computed.emplace_back("selective_recompute", *choice.selective_recompute);
  return to_yaml(Detail::Record{{"schema", "stagecraft/model/1"},
                                {"model", choice.architecture},
                                {"device", choice.device},
                                {"computed", std::move(computed)},
                                {"microbatch_size", std::int64_t{1}}});
}

NamedModel load_network(const std::string& name, const ModelChoice& choice, const ReplacedValues& replaced,
                        const DescribedPlatform& platform) {
  const Architecture network = computed_network(known_network(name, choice), choice.computed);
  NamedModel named;
  named.computed = completed({name, NetworkFrom::Catalogue}, choice, platform);
  named.computed.architecture = name;
  const auto parse = [&](std::string_view text, const std::string& path) {
    return parse_model(text, path, platform.devices);
  };
  named.model = parse_with({name, text_of(named.computed)}, replaced.values, replaced.option, named.hash, parse);
  if (!choice.is_of_plan) named.remarks.push_back(remark_on(network, named.model.profiles.front(), named.computed));
  return named;
}

/// Refuses a value for a key that is not read, for which the file's own reader has a note.
void refuse_unread(const std::vector<std::string>& unread, const ReplacedValues& replaced) {
  for (const auto& [path, value] : replaced.values) {
    const std::string key = path.substr(0, path.find_first_of(".["));
    if (std::ranges::find(unread, key) == unread.end()) continue;
    throw InputError("a config.json has no key " + quote(key) + " that is read", {"", 0, 0, replaced.option + path});
  }
}

Architecture network_of_config(const ModelSource& source, const ModelChoice& choice, const ReplacedValues& replaced,
                               NamedModel& named) {
  const auto parse = [&](std::string_view text, const std::string& path) {
    return parse_hf_config(text, path, choice.computed.sequence, source.location);
  };
  HfConfig config = parse_with(source.file, replaced.values, replaced.option, named.hash, parse);
  refuse_unread(config.unread, replaced);
  if (!choice.is_of_plan) named.remarks = config.notes;
  named.remarks.insert(named.remarks.end(), config.warnings.begin(), config.warnings.end());
  return std::move(config.network);
}

Architecture network_of_architecture(const FileText& file, const ModelChoice& choice, const ReplacedValues& replaced,
                                     NamedModel& named) {
  Architecture network = parse_with(file, replaced.values, replaced.option, named.hash, parse_architecture);
  if (!choice.computed.sequence) return network;
  return read_architecture_at(file, *choice.computed.sequence, replaced, place_of(choice, "sequence"));
}

/// The model of a file that describes a network.
NamedModel load_described(const ModelSource& source, const ModelChoice& choice, const ReplacedValues& replaced,
                          const DescribedPlatform& platform) {
  NamedModel named;
  const bool has_config = is_config(source.file);
  const Architecture network =
      computed_network(has_config ? network_of_config(source, choice, replaced, named)
                                  : network_of_architecture(source.file, choice, replaced, named),
                       choice.computed);
  const NetworkFrom from = has_config ? NetworkFrom::Config : NetworkFrom::Architecture;
  named.computed = completed({source.file.path, from}, choice, platform);
  const auto precision = named.computed.precision ? precision_of(*named.computed.precision) : std::nullopt;
  auto computed = std::make_shared<const ComputedProfiles>(network, *granularity_of(*named.computed.granularity),
                                                           precision, Degrees(), platform.devices);
  named.model.profiles.push_back(computed->profile(named.computed.device, 1));
  named.model.computed = std::move(computed);
  if (!choice.is_of_plan) named.remarks.push_back(remark_on(network, named.model.profiles.front(), named.computed));
  return named;
}

bool has_figures(const FileText& file) {
  const YamlNode root = parse_yaml(file.text, file.path);
  return !root.find("computed") || root.find("layers") || root.find("profiles");
}

/// The values that a choice of this name puts into a file without figures. The file may state the precision, too.
FileValues values_for(const std::string& choice, const Detail& value) {
  FileValues values{{"computed." + choice, value}};
  if (choice == "precision") values.emplace_back(choice, value);
  return values;
}

/// What a file without figures can take of a choice.
Detail::Record choices_for_file(ComputedChoice choice) {
  choice.architecture.clear();
  choice.device.clear();
  return computed_choice_record(choice);
}

/// Refuses a file of another format with a hint that says which there are.
void require_model_file(const FileText& file) {
  if (file.text.find(kModelSchema) != std::string::npos) return;
  static_cast<void>(parse_yaml(file.text, file.path));  // of a text that is no YAML there is nothing to hint
  try {
    static_cast<void>(parse_model(file.text, file.path));
  } catch (const InputError& error) {
    throw InputError(error.message(), error.place(), error.hint().empty() ? kFormsOfModels : error.hint());
  }
}

NamedModel load_file(const FileText& file, const ModelChoice& choice, const ReplacedValues& replaced) {
  require_model_file(file);
  NamedModel named;
  FileValues values;
  const Detail::Record choices = choices_for_file(choice.computed);
  if (!choices.empty() && has_figures(file)) {
    if (!choice.is_of_plan) {
      refuse_choice(
          InputError("the figures of " + quote(file.path) + " are fixed", {}, "stagecraft model computes others"),
          choice, choices.front().first);
    }
  } else if (!choices.empty()) {
    named.computed = choice.computed;
    named.computed.device.clear();
    static_cast<void>(parse_model(file.text, file.path));
    for (const auto& [name, value] : choices) {
      const FileValues more = values_for(name, value);
      values.insert(values.end(), more.begin(), more.end());
      try {
        static_cast<void>(parse_model(overridden(file, values, ""), file.path));
      } catch (const InputError& error) {
        refuse_choice(error, choice, name);
      }
    }
  }
  values.insert(values.end(), replaced.values.begin(), replaced.values.end());
  const auto parse = [](std::string_view text, const std::string& path) { return parse_model(text, path); };
  named.model = parse_with(file, values, replaced.option, named.hash, parse);
  return named;
}

/// The hint for a name that means nothing: `hint`, which knows files alone, unless a network is nearer.
std::string suggest_model(const std::string& name, const std::string& hint) {
  const bool names_network = hint.find("'stagecraft model ") != std::string::npos;
  if (!names_network && !hint.starts_with("known: ")) return hint;
  std::vector<std::string> networks;
  for (const WorkloadInfo& network : known_architectures()) networks.push_back(network.name);
  const std::string stem = name.ends_with(".yaml") ? std::filesystem::path(name).stem().string() : name;
  if (const auto nearest = nearest_name(stem, networks)) return "did you mean the network " + quote(*nearest) + "?";
  return hint + "; networks: see 'stagecraft list architectures'; " + kFormsOfModels;
}

}  // namespace

std::string recompute_remark(const Architecture& network) {
  return network.recomputes_attention
             ? "attention is recomputed selectively"
             : "selective recomputation changes nothing, because no attention is computed in full";
}

std::optional<std::string> usual_precision(const DeviceDescription& device,
                                           const std::vector<DeviceDescription>& kinds) {
  constexpr std::array kModes{Precision::Bf16, Precision::Fp16};
  for (const Precision mode : kModes) {
    if (std::ranges::all_of(kinds, [&](const DeviceDescription& kind) { return has(kind, mode); }) && has(device, mode))
      return to_string(mode);
  }
  for (const Precision mode : kModes) {
    if (has(device, mode)) return to_string(mode);
  }
  return std::nullopt;
}

Architecture read_architecture_at(const FileText& file, std::int64_t sequence, const ReplacedValues& replaced,
                                  const InputPlace& place) {
  const Architecture network = parse_architecture(overridden(file, replaced.values, replaced.option), file.path);
  if (network.tokens == 0) throw InputError("the network " + quote(network.name) + " takes images", place);
  FileValues values = replaced.values;
  values.emplace_back("sequence", sequence);
  try {
    return parse_architecture(overridden(file, values, replaced.option), file.path);
  } catch (const InputError& error) {
    const std::string& key = error.place().key;
    const std::string of_key = key.empty() || key == "sequence" ? "" : key + ": ";
    throw InputError(of_key + error.message(), place, error.hint());
  }
}

std::string chosen_hash(const FileText& file, const ComputedChoice& choice) {
  const Detail::Record choices = choices_for_file(choice);
  if (choices.empty() || file.text.find("computed") == std::string::npos) return {};
  FileValues values;
  for (const auto& [name, value] : choices) {
    const FileValues more = values_for(name, value);
    values.insert(values.end(), more.begin(), more.end());
  }
  try {
    return has_figures(file) ? std::string() : sha256(overridden(file, values, ""));
  } catch (const InputError&) {
    return {};  // no YAML, or of another form
  }
}

bool is_description(const FileText& file) { return is_architecture(file) || is_config(file); }

Architecture known_network(const std::string& name, const ModelChoice& choice) {
  if (!choice.computed.sequence) return *find_architecture(name);
  std::optional<Architecture> network;
  try {
    network = find_sequence_network(name, *choice.computed.sequence);
  } catch (const InputError& error) {
    refuse_choice(error, choice, "sequence");
  }
  if (!network) refuse_choice(InputError("the network " + quote(name) + " takes images"), choice, "sequence");
  return *std::move(network);
}

std::vector<std::string> remarks_on_config(const ModelSource& source, const ModelChoice& choice,
                                           const ReplacedValues& replaced) {
  NamedModel named;
  if (is_config(source.file)) static_cast<void>(network_of_config(source, choice, replaced, named));
  return named.remarks;
}

bool is_network(const std::string& name) { return find_architecture(name).has_value(); }

ModelSource find_model(const std::string& name, const ModelChoice& choice, const std::string& base) {
  if (!choice.computed.architecture.empty()) return {{choice.computed.architecture, {}}, true, true};
  const std::optional<std::string> path = existing_input(name, InputKind::Model, base);
  if (!path && is_network(name)) return {{name, {}}, true, true};
  if (!path) {
    try {
      static_cast<void>(find_input(name, InputKind::Model, base));
    } catch (const InputError& error) {
      throw InputError(error.message(), error.place(), suggest_model(name, error.hint()));
    }
  }
  ModelSource source{{*path, read_text_file(*path)}, false, false};
  source.needs_platform = is_description(source.file);
  return source;
}

NamedModel load_model(const ModelSource& source, const ModelChoice& choice, const ReplacedValues& replaced,
                      const DescribedPlatform* platform) {
  if (source.is_network) return load_network(source.file.path, choice, replaced, *platform);
  if (source.needs_platform) return load_described(source, choice, replaced, *platform);
  return load_file(source.file, choice, replaced);
}

}  // namespace stagecraft
