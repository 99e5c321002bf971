#include "experiments/study/cell_inputs.hpp"

#include "experiments/study/overrides.hpp"
#include "sim/base/error.hpp"
#include "sim/base/text.hpp"
#include "sim/io/json.hpp"
#include "sim/io/model_file.hpp"
#include "sim/io/platform_file.hpp"
#include "sim/io/sha256.hpp"
#include "sim/io/text_file.hpp"
#include "sim/io/yaml_values.hpp"

#include <utility>

namespace stagecraft {
namespace {

/// The content of a file after overrides, as JSON, which every YAML parser can read.
std::string overridden(const std::string& text, const std::string& path, const Keys& overrides) {
  Detail content = read_detail(parse_yaml(text, path));
  for (const auto& [name, value] : overrides) set_value(content, name, value);
  return to_json(content, -1);
}

/// Reads a file of the cell. With overrides an error has no line in the file, so the refusal names only its key.
template <class Parse>
auto load(const StudyFile& file, const Keys& overrides, std::string& hash, const Parse& parse) {
  const std::string text = read_text_file(file.path);
  if (overrides.empty()) {
    hash = sha256(text);
    return parse(text, file.name);
  }
  try {
    const std::string changed = overridden(text, file.name, overrides);
    hash = sha256(changed);
    return parse(changed, file.name);
  } catch (const InputError& error) {
    const std::string what = file.kind + " " + quote(file.name) + " with " + to_json(overrides, -1) + ": ";
    throw InputError(what + error.message(), {"", 0, 0, error.place().key}, error.hint());
  }
}

std::string input_key(const std::string& file, const Keys& overrides) {
  return to_json(Detail::Record{{"file", file}, {"with", overrides}}, -1);
}

}  // namespace

HashedInput<Model> load_model(const Manifest& manifest, const CellSpec& cell) {
  HashedInput<Model> model;
  model.input = load(find_file(manifest, "model", cell.model), cell.model_values, model.hash, parse_model);
  return model;
}

HashedInput<Platform> load_platform(const Manifest& manifest, const CellSpec& cell) {
  HashedInput<Platform> platform;
  platform.input = build_platform(
      load(find_file(manifest, "platform", cell.platform), cell.platform_values, platform.hash, parse_platform));
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

std::string model_key(const CellSpec& cell) { return input_key(cell.model, cell.model_values); }
std::string platform_key(const CellSpec& cell) { return input_key(cell.platform, cell.platform_values); }

void check_files(const Manifest& manifest) {
  for (const StudyFile& file : manifest.files) {
    const std::string now = file.kind == "events" ? hash_of(file.kind, file.path) : sha256(read_bytes_file(file.path));
    if (now == file.sha256) continue;
    throw InputError("has changed since the study began", {file.path, 0, 0, ""},
                     "restore the old content, or start the study again with another --out");
  }
}

}  // namespace stagecraft
