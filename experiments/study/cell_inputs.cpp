#include "experiments/study/cell_inputs.hpp"

#include "experiments/run/named_model.hpp"
#include "experiments/run/overrides.hpp"
#include "sim/base/error.hpp"
#include "sim/io/json.hpp"
#include "sim/io/plan_computed.hpp"
#include "sim/io/platform_file.hpp"
#include "sim/io/sha256.hpp"
#include "sim/io/text_file.hpp"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

namespace stagecraft {
namespace {

/// Reads a file of the cell.
template <class Parse>
auto load(const StudyFile& file, const Keys& values, std::string& hash, const Parse& parse) {
  return parse_with({file.name, read_text_file(file.path)}, values, file.kind + ".", hash, parse);
}

bool is_known_by_name(const StudyFile& file) { return file.kind == "model" && file.path.empty(); }

/// What a cell's values for a model say of a network: what is chosen for it, and values of its file.
struct NetworkValues {
  ModelChoice choice;
  Keys values;
};

constexpr std::string_view kComputed = "computed.";

/// The choices among the values, without their prefix `computed.`.
Detail::Record choices_among(const Keys& values) {
  constexpr std::array<std::string_view, 4> kChoices{"sequence", "precision", "granularity", "selective_recompute"};
  Detail::Record choices;
  for (const auto& [path, value] : values) {
    if (!path.starts_with(kComputed)) continue;
    const std::string name = path.substr(kComputed.size());
    if (std::ranges::find(kChoices, name) != kChoices.end()) choices.emplace_back(name, value);
  }
  return choices;
}

NetworkValues network_values(const Keys& values) {
  const std::string prefix = "model." + std::string(kComputed);
  const Detail::Record choices = choices_among(values);
  NetworkValues result{{.computed = {}, .prefix = prefix}, values};
  try {
    result.choice.computed = read_computed_choice(parse_yaml(to_json(choices, -1), ""));
  } catch (const InputError& error) {
    throw InputError(error.message(), {"", 0, 0, prefix + error.place().key}, error.hint());
  }
  std::erase_if(result.values, [&](const auto& entry) {
    return std::ranges::any_of(
        choices, [&](const auto& choice) { return entry.first == std::string(kComputed) + choice.first; });
  });
  return result;
}

DescribedPlatform load_described(const Manifest& manifest, const CellSpec& cell) {
  std::string hash;
  const StudyFile& file = find_file(manifest, "platform", cell.platform);
  return with_device_files(load(file, cell.platform_values, hash, parse_platform), file.path);
}

std::string input_key(const std::string& file, const Keys& overrides) {
  return to_json(Detail::Record{{"file", file}, {"with", overrides}}, -1);
}

ModelSource source_of(const StudyFile& file) {
  const bool is_known = is_known_by_name(file);
  return {{file.name, is_known ? "" : read_text_file(file.path)}, is_known, file.is_network, file.path};
}

}  // namespace

HashedInput<Model> load_model(const Manifest& manifest, const CellSpec& cell) {
  const StudyFile& file = find_file(manifest, "model", cell.model);
  const ModelSource source = source_of(file);
  NamedModel named;
  if (file.is_network) {
    const NetworkValues given = network_values(cell.model_values);
    const DescribedPlatform platform = load_described(manifest, cell);
    named = load_model(source, given.choice, {given.values, "model."}, &platform);
  } else {
    named = load_model(source, {}, {cell.model_values, "model."}, nullptr);
  }
  return {std::move(named.model), std::move(named.hash)};
}

std::vector<std::string> remarks_on_model(const Manifest& manifest, const CellSpec& cell) {
  const StudyFile& file = find_file(manifest, "model", cell.model);
  if (!file.is_network || is_known_by_name(file)) return {};
  const NetworkValues given = network_values(cell.model_values);
  return remarks_on_config(source_of(file), given.choice, {given.values, "model."});
}

void check_values(const Manifest& manifest, const CellSpec& cell) {
  std::string hash;
  if (!cell.model_values.empty()) static_cast<void>(load_model(manifest, cell));
  if (cell.platform_values.empty()) return;
  static_cast<void>(load(find_file(manifest, "platform", cell.platform), cell.platform_values, hash, parse_platform));
}

HashedInput<Platform> load_platform(const Manifest& manifest, const CellSpec& cell) {
  const StudyFile& file = find_file(manifest, "platform", cell.platform);
  HashedInput<Platform> platform;
  PlatformSpec spec = load(file, cell.platform_values, platform.hash, parse_platform);
  platform.hash = with_device_files(platform.hash, spec, file.path);
  platform.input = build_platform(std::move(spec));
  return platform;
}

Inputs joined(HashedInput<Model> model, HashedInput<Platform> platform) {
  Inputs inputs{std::move(model.input), std::move(platform.input), std::move(model.hash), std::move(platform.hash), {}};
  fit_to_platform(inputs.model, inputs.platform);
  return inputs;
}

Inputs load_inputs(const Manifest& manifest, const CellSpec& cell) {
  HashedInput<Model> model = load_model(manifest, cell);
  HashedInput<Platform> platform = load_platform(manifest, cell);
  return joined(std::move(model), std::move(platform));
}

std::string model_key(const Manifest& manifest, const CellSpec& cell) {
  std::string key = input_key(cell.model, cell.model_values);
  return find_file(manifest, "model", cell.model).is_network ? key + platform_key(cell) : key;
}
std::string platform_key(const CellSpec& cell) { return input_key(cell.platform, cell.platform_values); }

void check_files(const Manifest& manifest) {
  for (const StudyFile& file : manifest.files) {
    if (is_known_by_name(file)) continue;
    const bool names_files = file.kind == "events" || file.kind == "platform";
    const std::string now = names_files ? hash_of(file.kind, file.path) : sha256(read_bytes_file(file.path));
    if (now == file.sha256) continue;
    throw InputError("has changed since the study began", {file.path, 0, 0, ""},
                     "restore the old content, or start the study again with another --out");
  }
}

}  // namespace stagecraft
