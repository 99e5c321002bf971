#include "experiments/study/manifest.hpp"

#include "experiments/run/build_facts.hpp"
#include "experiments/run/described_platform.hpp"
#include "experiments/run/event_models.hpp"
#include "experiments/run/external_planner.hpp"
#include "experiments/run/inputs.hpp"
#include "experiments/run/named_model.hpp"
#include "experiments/run/replan_choices.hpp"
#include "sim/base/counted.hpp"
#include "sim/base/error.hpp"
#include "sim/base/text.hpp"
#include "sim/io/events_file.hpp"
#include "sim/io/json.hpp"
#include "sim/io/sha256.hpp"
#include "sim/io/text_file.hpp"
#include "sim/replay/engine_version.hpp"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <map>
#include <utility>

namespace stagecraft {
namespace {

namespace fs = std::filesystem;

using NamedFile = std::pair<std::string, std::string>;  ///< kind, name

std::vector<NamedFile> files_of(const Cell& cell) {
  std::vector<NamedFile> files{{"model", word_of(cell.keys, "model")}, {"platform", word_of(cell.keys, "platform")}};
  if (const std::string events = word_of(cell.keys, "events"); !events.empty()) files.emplace_back("events", events);
  const std::string planner = word_of(cell.keys, "planner");
  const std::string asked_again = planner_of_replan(word_of(cell.keys, "replan"));
  if (is_external(planner)) files.emplace_back("planner", planner);
  if (is_external(asked_again)) files.emplace_back("planner", asked_again);
  return files;
}

std::string find_named(const NamedFile& file, const fs::path& folder) {
  const auto& [kind, name] = file;
  if (kind == "model") return find_input(name, InputKind::Model, folder.string());
  if (kind == "platform") return find_input(name, InputKind::Platform, folder.string());
  const std::string path = (folder / (kind == "planner" ? name.substr(std::string("exec:").size()) : name)).string();
  std::error_code ignored;
  if (GivenFiles::find(path) == nullptr && !fs::exists(path, ignored))
    throw InputError("no such file", {path, 0, 0, ""});
  return path;
}

bool is_model_of_network(const FileText& file) {
  try {
    return is_description(file);
  } catch (const InputError&) {
    return false;  // its cells will say what is wrong
  }
}

StudyFile read_named(const NamedFile& file, const fs::path& folder) {
  const auto& [kind, name] = file;
  const bool is_file = kind != "model" || existing_input(name, InputKind::Model, folder.string()).has_value();
  if (!is_file && find_model(name, {}, folder.string()).is_network) return {kind, name, "", sha256(name), true};
  const std::string path = find_named(file, folder);
  const bool is_network = kind == "model" && is_model_of_network({path, read_text_file(path)});
  const bool is_given = GivenFiles::find(path) != nullptr;
  return {kind, name, is_given ? path : fs::absolute(path).lexically_normal().string(), hash_of(kind, path),
          is_network};
}

std::string cell_key(const Cell& cell, const std::map<NamedFile, std::string>& hashes) {
  Detail::Record files;
  for (const NamedFile& file : files_of(cell)) {
    const auto known = hashes.find(file);
    if (known != hashes.end()) files.emplace_back(file.first, known->second);
  }
  return sha256(to_json(
      Detail::Record{
          {"cell", canonical(cell.keys)}, {"seed", static_cast<std::int64_t>(cell.seed)}, {"files", std::move(files)}},
      -1));
}

}  // namespace

std::string hash_of(const std::string& kind, const std::string& path) {
  if (kind == "planner") return sha256(read_bytes_file(path));
  if (kind == "platform") return platform_hash({path, read_text_file(path)});
  if (kind != "events") return sha256(read_text_file(path));
  try {
    return load_event_models(load_events(path, path), {}).sha256;
  } catch (const InputError&) {
    return sha256(read_text_file(path));  // its cells will say what is wrong
  }
}

Manifest make_manifest(const Study& study, const Expansion& expansion, std::vector<std::string> command) {
  Manifest manifest{.study = study.name,
                    .file = study.file,
                    .version = program_version(),
                    .simgrid_version = simgrid_version(),
                    .command = std::move(command),
                    .limits = study.limits,
                    .baseline = study.baseline,
                    .columns = study.columns,
                    .tables = study.tables,
                    .files = {},
                    .cells = {}};
  const fs::path folder = fs::path(study.file).parent_path();
  std::map<NamedFile, std::string> hashes;
  manifest.cells.reserve(expansion.cells.size());
  for (const Cell& cell : expansion.cells) {
    for (const NamedFile& file : files_of(cell)) {
      if (hashes.contains(file)) continue;
      hashes[file] = manifest.files.emplace_back(read_named(file, folder)).sha256;
    }
    manifest.cells.push_back({cell, cell_key(cell, hashes)});
  }
  return manifest;
}

const StudyFile& find_file(const Manifest& manifest, const std::string& kind, const std::string& name) {
  const auto found = std::ranges::find_if(
      manifest.files, [&](const StudyFile& file) { return file.kind == kind && file.name == name; });
  STAGECRAFT_CHECK(found != manifest.files.end(), "the manifest lists every file of its cells");
  return *found;
}

bool is_intact(const Manifest& manifest, std::size_t position) {
  const StudyCell& cell = manifest.cells.at(position);
  std::map<NamedFile, std::string> hashes;
  for (const StudyFile& file : manifest.files) hashes[{file.kind, file.name}] = file.sha256;
  return cell.key == cell_key(cell.cell, hashes);
}

std::uint64_t noise_seed(const Cell& cell) {
  Keys keys = canonical(cell.keys);
  std::erase_if(keys, [](const auto& entry) {
    const bool is_own = std::ranges::find(kOwnKeys, entry.first) != kOwnKeys.end();
    return entry.first == "planner" || (is_own && entry.first != "microbatch_size") || entry.first == "profile_noise" ||
           entry.first == "replan" || is_option_key(entry.first) || entry.first.starts_with("tag.");
  });
  const Detail::Record record{{"cell", std::move(keys)}, {"seed", static_cast<std::int64_t>(cell.seed)}};
  const std::string digest = sha256(to_json(record, -1));
  std::uint64_t seed = 0;
  std::from_chars(digest.data(), digest.data() + 16, seed, 16);
  return seed >> 1U;
}

std::string manifest_path(const std::string& folder) { return (fs::path(folder) / "manifest.jsonl").string(); }

Manifest read_manifest(const std::string& folder) {
  if (folder.empty()) throw InputError("expected the folder of a study's results, found an empty name");
  const std::string path = manifest_path(folder);
  std::error_code ignored;
  if (!fs::exists(path, ignored)) {
    throw InputError("expected the folder of a study's results, found no manifest.jsonl", {folder, 0, 0, ""},
                     "stagecraft run STUDY.yaml --out FOLDER makes one");
  }
  return parse_manifest(read_text_file(path), path);
}

std::optional<std::string> difference(const Manifest& theirs, const Manifest& ours) {
  if (theirs.version != ours.version) return "the versions are " + theirs.version + " and " + ours.version;
  if (theirs.simgrid_version != ours.simgrid_version) return "SimGrid's version differs";
  if (theirs.limits != ours.limits) return "the limits of a cell differ";
  if (theirs.baseline != ours.baseline) return "the baseline differs";
  if (theirs.cells.size() != ours.cells.size()) {
    return "one has " + counted(theirs.cells.size(), "cell") + ", the other " + std::to_string(ours.cells.size());
  }
  for (std::size_t i = 0; i < ours.cells.size(); ++i) {
    if (theirs.cells[i] == ours.cells[i]) continue;
    const bool same_cell = theirs.cells[i].cell == ours.cells[i].cell;
    return "cell " + std::to_string(i) + (same_cell ? " has files with other content" : " differs");
  }
  return std::nullopt;
}

}  // namespace stagecraft
