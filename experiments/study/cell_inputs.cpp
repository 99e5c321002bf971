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

/// The keys of a cell that change a file's content, without `prefix`.
Keys overrides_of(const Cell& cell, const std::string& prefix) {
  Keys overrides;
  for (const auto& [name, value] : cell.keys) {
    if (name.starts_with(prefix)) overrides.emplace_back(name.substr(prefix.size()), value);
  }
  return overrides;
}

/// The content of a file after overrides, as JSON, which every reader of YAML takes.
std::string overridden(const std::string& text, const std::string& path, const Keys& overrides) {
  Detail content = read_detail(parse_yaml(text, path));
  for (const auto& [name, value] : overrides) set_value(content, name, value);
  return to_json(content, -1);
}

/// Reads a file of the cell. What is wrong after an override has no line in the file, so it is told by its key alone.
template <class Parse>
auto load(const Manifest& manifest, const Cell& cell, const std::string& kind, std::string& hash, const Parse& parse) {
  const StudyFile& file = find_file(manifest, kind, std::get<std::string>(find_key(cell.keys, kind)->value));
  const std::string text = read_text_file(file.path);
  const Keys overrides = overrides_of(cell, kind + ".");
  if (overrides.empty()) {
    hash = sha256(text);
    return parse(text, file.name);
  }
  try {
    const std::string changed = overridden(text, file.name, overrides);
    hash = sha256(changed);
    return parse(changed, file.name);
  } catch (const InputError& error) {
    const std::string what = kind + " " + quote(file.name) + " with " + to_json(overrides, -1) + ": ";
    throw InputError(what + error.message(), {"", 0, 0, error.place().key}, error.hint());
  }
}

}  // namespace

HashedInput<Model> load_model(const Manifest& manifest, const Cell& cell) {
  HashedInput<Model> model;
  model.input = load(manifest, cell, "model", model.hash, parse_model);
  return model;
}

HashedInput<Platform> load_platform(const Manifest& manifest, const Cell& cell) {
  HashedInput<Platform> platform;
  platform.input = build_platform(load(manifest, cell, "platform", platform.hash, parse_platform));
  return platform;
}

Inputs load_inputs(const Manifest& manifest, const Cell& cell) {
  HashedInput<Model> model = load_model(manifest, cell);
  HashedInput<Platform> platform = load_platform(manifest, cell);
  return {std::move(model.input), std::move(platform.input), std::move(model.hash), std::move(platform.hash)};
}

std::string input_key(const Cell& cell, const std::string& kind) {
  return to_json(Detail::Record{{"file", *find_key(cell.keys, kind)}, {"with", overrides_of(cell, kind + ".")}}, -1);
}

void check_files(const Manifest& manifest) {
  for (const StudyFile& file : manifest.files) {
    if (sha256(read_bytes_file(file.path)) == file.sha256) continue;
    throw InputError("has changed since the study began", {file.path, 0, 0, ""},
                     "put the old content back, or start the study anew with another --out");
  }
}

}  // namespace stagecraft
