#include "experiments/run/plan_input.hpp"

#include "experiments/run/described_platform.hpp"
#include "experiments/run/named_model.hpp"
#include "sim/base/error.hpp"
#include "sim/base/text.hpp"
#include "sim/io/sha256.hpp"
#include "sim/io/text_file.hpp"
#include "sim/io/yaml_node.hpp"

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <system_error>
#include <vector>

namespace stagecraft {
namespace {

namespace fs = std::filesystem;

/// What the header of a plan says of one of its inputs.
struct NamedInput {
  InputKind kind = InputKind::Model;
  std::string name;
  std::string hash;
  ComputedChoice choice = {};  ///< as the plan has it; with a device and no network, for an architecture file
  [[nodiscard]] std::string word() const { return kind == InputKind::Model ? "model" : "platform"; }
  [[nodiscard]] std::string schema() const {
    return "stagecraft/" + (choice.device.empty() ? word() : "architecture") + "/";
  }
};

std::vector<ShippedFile> shipped_like(const NamedInput& input) {
  return shipped_files(input.kind == InputKind::Model ? "traces" : "platforms");
}

/// Where the named file may be, the likeliest place first.
std::vector<std::string> places_of(const NamedInput& input, const std::string& plan) {
  std::vector<std::string> places{input.name};
  for (const ShippedFile& file : shipped_like(input)) {
    if (file.name == input.name) places.push_back(file.path);
  }
  const std::string file = input.name + ".yaml";
  places.push_back((fs::path(plan).parent_path() / file).string());
  places.push_back(file);
  return places;
}

/// Whether a file has the hash of the input, as it is, with its device files or with what the plan chooses.
bool has_hash(const NamedInput& input, const FileText& file) {
  if (input.kind == InputKind::Platform) return platform_hash(file) == input.hash;
  return sha256(file.text) == input.hash || chosen_hash(file, input.choice) == input.hash;
}

bool has_hash(const NamedInput& input, const std::string& path) {
  try {
    return has_hash(input, FileText{path, read_bytes_file(path)});
  } catch (const InputError&) {
    return false;  // nothing can be read there
  }
}

/// The YAML and JSON files of a folder, sorted; empty is the current one.
std::vector<std::string> files_in(const fs::path& folder) {
  std::vector<std::string> files;
  std::error_code problem;  // then there are no files
  for (const fs::directory_entry& entry : fs::directory_iterator(folder.empty() ? "." : folder, problem)) {
    const fs::path extension = entry.path().extension();
    const bool is_data = extension == ".yaml" || extension == ".json";
    if (is_data && entry.is_regular_file(problem)) files.push_back((folder / entry.path().filename()).string());
  }
  std::ranges::sort(files);
  return files;
}

/// The file of that hash, whatever its name: beside the plan, in the current folder, or shipped.
std::optional<std::string> file_of_hash(const NamedInput& input, const std::string& plan) {
  const fs::path folder = fs::path(plan).parent_path();
  std::vector<std::string> files = files_in(folder);
  if (!folder.empty()) std::ranges::move(files_in({}), std::back_inserter(files));
  for (const ShippedFile& file : shipped_like(input)) files.push_back(file.path);
  const auto found = std::ranges::find_if(files, [&](const std::string& file) { return has_hash(input, file); });
  return found != files.end() ? std::optional(*found) : std::nullopt;
}

/// The file with the hash of the input, or else the first of the places with a file of its kind.
std::optional<std::string> best_file(const NamedInput& input, const std::string& plan) {
  const std::string schema = input.schema();
  std::optional<std::string> first;
  for (const std::string& place : places_of(input, plan)) {
    std::error_code problem;  // then it is no file
    if (GivenFiles::find(place) == nullptr && !fs::is_regular_file(place, problem)) continue;
    const std::string text = read_text_file(place);
    if (!input.hash.empty() && has_hash(input, FileText{place, text})) return place;
    if (!first && text.find(schema) != std::string::npos) first = place;
    if (first && input.hash.empty()) return first;
  }
  if (input.hash.empty()) return first;
  const std::optional<std::string> fitting = file_of_hash(input, plan);
  return fitting ? fitting : first;
}

/// Whether the text is of the input's format and gives its name.
bool gives_name(const NamedInput& input, const std::string& path) {
  try {
    const FileText file{path, read_text_file(path)};
    if (file.text.find(input.schema()) == std::string::npos) return false;
    const YamlNode root = parse_yaml(file.text, file.path);
    const auto name = root.kind() == YamlKind::Map ? root.find(input.word()) : std::nullopt;
    return name && name->kind() == YamlKind::Text && name->text() == input.name;
  } catch (const InputError&) {
    return false;
  }
}

/// What is wrong with the file that the plan seems to mean; empty if there is none.
std::string near_miss(const NamedInput& input, const std::string& plan) {
  for (const std::string& place : places_of(input, plan)) {
    std::error_code problem;  // then it is no file
    if (fs::is_regular_file(place, problem)) return quote(place) + " lacks 'schema: " + input.schema() + "1'";
  }
  const fs::path folder = fs::path(plan).parent_path();
  std::vector<std::string> files = files_in(folder);
  if (!folder.empty()) std::ranges::move(files_in({}), std::back_inserter(files));
  const auto found = std::ranges::find_if(files, [&](const std::string& file) { return gives_name(input, file); });
  if (found == files.end()) return {};
  return quote(*found) + " has this name but was changed since the plan was made; --" + input.word() + " " + *found +
         " takes it";
}

std::string find_plan_input(const std::optional<std::string>& given, const NamedInput& input, const std::string& plan) {
  if (given) return find_input(*given, input.kind);
  const std::string word = input.word();
  const InputPlace place{plan, 0, 0, ""};
  if (input.name.empty()) {
    throw InputError("the plan does not say for which " + word, place, "name it with --" + word);
  }
  if (const auto found = best_file(input, plan)) return *found;
  const std::string close = near_miss(input, plan);
  throw InputError("the plan is for the " + word + " " + quote(input.name) +
                       ", which is neither a file nor shipped, and there is no " + word + " file " +
                       quote(input.name + ".yaml") + " beside the plan or in the current folder",
                   place, close.empty() ? "name its file with --" + word : close);
}

/// A warning if the plan was made for another model or platform than the given one. Hashes are compared if the plan has
/// one, names otherwise.
std::string mismatch(const std::string& kind, const std::string& planned_hash, const std::string& planned_name,
                     const std::string& hash, const std::string& name) {
  if (!planned_hash.empty() && planned_hash != hash) {
    const std::string hint =
        planned_name == name ? "; if it was made with --set " + kind + ".PATH, give the same here" : "";
    return "warning: the plan was made for another " + kind + " file (its SHA-256 differs" + hint + ")";
  }
  if (planned_hash.empty() && !planned_name.empty() && planned_name != name) {
    return "warning: the plan was made for the " + kind + " " + quote(planned_name) + ", not " + quote(name);
  }
  return {};
}

/// The path of a model that the user names, or the name of a network.
std::string given_model(const std::string& name) {
  if (auto path = existing_input(name, InputKind::Model)) return *std::move(path);
  return find_model(name, {}).file.path;
}

/// What the plan says of its model, for the model that the user gives, if any.
ModelChoice choice_of(const GivenInputs& given, const PlanHeader& header, const std::string& plan) {
  ModelChoice choice{.computed = header.computed, .prefix = "computed.", .is_of_plan = true, .file = plan};
  if (!given.model) return choice;
  const bool is_other = !choice.computed.architecture.empty() && *given.model != choice.computed.architecture;
  if (is_other) choice.computed = {};
  choice.computed.architecture.clear();
  choice.computed.device.clear();
  return choice;
}

}  // namespace

FoundInputs find_plan_inputs(const GivenInputs& given, const FileText& plan) {
  const PlanHeader header = parse_plan_header(plan.text, plan.path);
  const ComputedChoice& computed = header.computed;
  const NamedInput model{InputKind::Model, header.model, header.model_hash, computed};
  FoundInputs found{.model = {}, .platform = {}, .choice = choice_of(given, header, plan.path)};
  if (!found.choice.computed.architecture.empty()) {
    found.model = computed.architecture;
  } else {
    found.model = given.model ? given_model(*given.model) : find_plan_input({}, model, plan.path);
  }
  found.platform =
      find_plan_input(given.platform, {InputKind::Platform, header.platform, header.platform_hash, {}}, plan.path);
  return found;
}

void tell_mismatches(const PlanHeader& header, const Inputs& inputs,
                     const std::function<void(const std::string&)>& say) {
  const std::string& model = inputs.model.profiles.front().name;
  const std::string& platform = inputs.platform.spec.name;
  for (const std::string& warning :
       {mismatch("model", header.model_hash, header.model, inputs.model_hash, model),
        mismatch("platform", header.platform_hash, header.platform, inputs.platform_hash, platform)}) {
    if (!warning.empty()) say(warning);
  }
}

PlanInput parse_plan_input(const FileText& file, const Inputs& inputs,
                           const std::function<void(const std::string&)>& say) {
  const PlanHeader header = parse_plan_header(file.text, file.path);
  tell_mismatches(header, inputs, say);
  PlanInput input;
  input.graph = profile_at(inputs.model, header.microbatch_size, header.stash, say, header.degrees);
  input.reading = parse_plan(file.text, file.path, input.graph, inputs.platform);
  return input;
}

}  // namespace stagecraft
