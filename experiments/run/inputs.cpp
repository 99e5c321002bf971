#include "experiments/run/inputs.hpp"

#include "experiments/run/build_facts.hpp"
#include "experiments/run/limits.hpp"
#include "experiments/run/named_model.hpp"
#include "sim/base/activity.hpp"
#include "sim/base/counted.hpp"
#include "sim/base/error.hpp"
#include "sim/base/text.hpp"
#include "sim/io/file_remarks.hpp"
#include "sim/io/model_file.hpp"
#include "sim/io/plan_degrees.hpp"
#include "sim/io/platform_file.hpp"
#include "sim/io/text_file.hpp"
#include "sim/workload/catalogue.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <system_error>

namespace stagecraft {
namespace {

namespace fs = std::filesystem;

fs::path data_folder() {
  const char* given = std::getenv("STAGECRAFT_DATA");  // NOLINT(concurrency-mt-unsafe): no threads
  if (given != nullptr && *given != '\0') return given;
  std::error_code ignored;
  const fs::path installed = fs::read_symlink("/proc/self/exe", ignored).parent_path() / "../share/stagecraft";
  return fs::is_directory(installed, ignored) ? installed.lexically_normal() : fs::path(source_folder());
}

struct Shipped {
  const char* word;
  const char* folder;
};

Shipped shipped_as(InputKind kind) {
  switch (kind) {
    case InputKind::Model: return {"model", "traces"};
    case InputKind::Platform: return {"platform", "platforms"};
    case InputKind::Study: break;
  }
  return {"study", "experiments/studies"};
}

bool looks_like_path(const std::string& name) { return name.find('/') != std::string::npos || name.ends_with(".yaml"); }

/// Refuses a speed for a kind of device that neither the model nor the platform has.
void check_speeds(const std::map<std::string, double>& speeds, const PlatformSpec& spec, const Model& model) {
  std::vector<std::string> known{model.profiles.front().device_kind};
  for (const DeviceKind& kind : spec.device_kinds) {
    if (kind.name != known.front()) known.push_back(kind.name);
  }
  for (const auto& [kind, speed] : speeds) {
    if (std::ranges::find(known, kind) != known.end()) continue;
    throw InputError("neither the model nor the platform has devices of the kind " + quote(kind), {"", 0, 0, "--speed"},
                     suggest_name(kind, known));
  }
}

/// A hint if the name is that of a shipped file of another kind, or a list of names; else empty.
std::string suggest_other_use(const std::string& name, InputKind kind, const std::vector<std::string>& shipped) {
  for (const InputKind other : {InputKind::Model, InputKind::Platform, InputKind::Study}) {
    const auto [word, folder] = shipped_as(other);
    const auto has_name = [&](const ShippedFile& file) { return file.name == name; };
    if (other == kind || std::ranges::none_of(shipped_files(folder), has_name)) continue;
    return std::string("it is a shipped ") + word;
  }
  const bool is_list = std::ranges::find(shipped, name.substr(0, name.find(','))) != shipped.end();
  return is_list && kind == InputKind::Model
             ? "several models are compared with an option for each: --model A --model B"
             : "";
}

/// The hint for a name or path of which there is no file: a file beside it, else a shipped file, else a network.
std::string suggest_input(const std::string& name, const std::string& path, InputKind kind,
                          const std::vector<std::string>& shipped) {
  if (const auto nearest = nearest_file(path)) return "did you mean " + quote(*nearest) + "?";
  if (const std::string other = suggest_other_use(name, kind, shipped); !other.empty()) return other;
  const std::string stem = looks_like_path(name) ? fs::path(name).stem().string() : name;
  const bool is_alike = nearest_name(stem, shipped).has_value();
  const bool is_network = kind == InputKind::Model && !shipped.empty();
  const std::string network = is_network && (!is_alike || find_architecture(stem)) ? suggest_network(stem) : "";
  return network.empty() ? suggest_shipped(stem, shipped) : network;
}

FileText read_input(const std::string& name, InputKind kind) {
  FileText file{find_input(name, kind), {}};
  file.text = read_text_file(file.path);
  return file;
}

/// The remarks on a file with values replaced. Its content has other lines than the file, so they name none.
std::vector<std::string> remarks_on(const FileText& file, const FileValues& values) {
  std::vector<std::string> remarks = file_remarks(overridden(file, values, ""), file.path);
  if (values.empty()) return remarks;
  for (std::string& remark : remarks)
    remark.erase(file.path.size(), remark.find(": ", file.path.size()) - file.path.size());
  return remarks;
}

/// Refuses a microbatch size at which the model's sizes exceed the limit for model files. Sizes grow with the
/// microbatch and are counted in 64 bits.
void check_growth(const Model& model, std::int64_t microbatch_size) {
  for (const LayerGraph& graph : model.profiles) {
    double bytes = static_cast<double>(graph.input.value());
    for (const Layer& layer : graph.layers) {
      bytes += static_cast<double>((layer.output + layer.stash + layer.workspace).value());
    }
    for (const LayerEdge& edge : graph.edges) bytes += static_cast<double>(edge.bytes.value());
    for (const SharedTensor& tensor : graph.tensors) bytes += static_cast<double>(tensor.bytes.value());
    const double growth = static_cast<double>(microbatch_size) / static_cast<double>(graph.microbatch_size);
    if (bytes * growth <= run_limits::kMostModelBytes) continue;
    throw InputError("with microbatches of " + counted(microbatch_size, "sample") + " the sizes of the model " +
                         quote(graph.name) + " exceed 1 PiB",
                     {}, "choose a smaller --microbatch-size");
  }
}

/// A remark on a speed to which no other kind of device relates; empty if there is none.
std::string remark_on_speeds(const Model& model, const Platform& platform) {
  const std::string& kind = model.profiles.front().device_kind;
  const auto given = platform.spec.speeds.find(kind);
  if (given == platform.spec.speeds.end()) return {};
  const bool is_alone = std::ranges::all_of(
      platform.devices, [&](const Device& device) { return platform.spec.device_kinds[device.kind].name == kind; });
  if (!is_alone) return {};
  return fmt::format(
      "--speed {}={:g} changes nothing: the model has times for this kind of device, to which other kinds relate by "
      "their speeds, and the platform has no other kind",
      kind, given->second);
}

std::string remark_on_files(const std::string& model) {
  return "the platform's device files change nothing of " + quote(model) +
         ", which has figures of its own; networks are computed by them";
}

/// The kind of the first device that the model knows and whose speed the user does not give.
std::optional<std::string> chosen_kind(const ProfileSource& source, const Platform& platform) {
  for (DeviceId device : indices(platform.devices)) {
    const std::string& kind = platform.kind(device).name;
    if (source.has(kind) && !platform.spec.speeds.contains(kind)) return kind;
  }
  return std::nullopt;
}

/// Makes the profile of `kind` the model's first one.
void put_first(Model& model, const ProfileSource& source, const std::string& kind) {
  if (model.computed) {
    model.profiles = {source.profile(kind, model.profiles.front().microbatch_size)};
  } else {
    std::ranges::stable_partition(model.profiles, [&](const LayerGraph& graph) { return graph.device_kind == kind; });
  }
}

/// Gives the kinds the speeds that hold in `precision`.
void use_precision(const std::string& precision, Platform& platform) {
  platform.precision = precision;
  if (precision == kPlainPrecision) return;
  for (DeviceKind& kind : platform.spec.device_kinds) {
    const auto other = kind.other_speeds.find(precision);
    kind.speed = other != kind.other_speeds.end() ? std::optional(other->second) : std::nullopt;
  }
}

/// Where the platform gives `unit` no speed, the speeds of kinds that the model lacks relate to nothing.
void forget_speeds(const ProfileSource& source, const std::string& unit, Platform& platform) {
  for (DeviceKind& kind : platform.spec.device_kinds) {
    if (!source.has(kind.name)) kind.speed = std::nullopt;
    if (!platform.spec.speeds.contains(kind.name)) continue;
    throw InputError(
        "the speed of " + quote(unit) + ", to which that of " + quote(kind.name) + " relates, is not known",
        {"", 0, 0, "--speed"},
        "give it too, with --speed " + unit + "=X" +
            (source.has(kind.name) ? ", or leave both out: the model has a profile of each" : ""));
  }
}

/// Gives the kinds that the model knows the speeds of its whole profiles, relative to `unit`.
void set_speeds(const ProfileSource& source, const std::string& unit, std::int64_t samples, Platform& platform) {
  const auto total = [&](const std::string& kind) {
    const LayerTotals sums = totals(source.profile(kind, samples));
    return (sums.forward + sums.backward).value();
  };
  std::optional<double> of_unit;
  std::optional<double> known;
  for (const DeviceKind& kind : platform.spec.device_kinds) {
    if (kind.name == unit) known = kind.speed;
  }
  if (!known) forget_speeds(source, unit, platform);
  const double unit_speed = known.value_or(1.0);
  for (DeviceKind& kind : platform.spec.device_kinds) {
    if (kind.name == unit) kind.speed = unit_speed;
    if (kind.name == unit || !source.has(kind.name)) continue;
    if (!of_unit) of_unit = total(unit);
    const double own = total(kind.name);
    if (own > 0.0) kind.speed = unit_speed * *of_unit / own;
  }
}

}  // namespace

std::optional<std::string> existing_input(const std::string& name, InputKind kind, const std::string& base) {
  std::string path = (fs::path(base) / name).string();
  if (GivenFiles::find(path) != nullptr) return path;
  const std::vector<ShippedFile> shipped = shipped_files(shipped_as(kind).folder);
  const auto found = std::ranges::find(shipped, name, &ShippedFile::name);
  if (kind == InputKind::Study && found != shipped.end()) return found->path;
  std::error_code ignored;
  if (fs::exists(path, ignored) && !fs::is_directory(path, ignored)) return path;
  return found != shipped.end() ? std::optional(found->path) : std::nullopt;
}

std::string find_input(const std::string& name, InputKind kind, const std::string& base) {
  if (auto found = existing_input(name, kind, base)) return *std::move(found);
  const auto [word, folder] = shipped_as(kind);
  const std::string path = (fs::path(base) / name).string();
  std::error_code ignored;
  if (fs::exists(path, ignored)) throw InputError("expected a file, found a directory", {path, 0, 0, ""});
  std::vector<std::string> names;
  for (const ShippedFile& file : shipped_files(folder)) names.push_back(file.name);
  const std::string hint = suggest_input(name, path, kind, names);
  if (looks_like_path(name)) throw InputError("no such file", {path, 0, 0, ""}, hint);
  throw InputError(std::string("no file and no shipped ") + word + " is called " + quote(name), {}, hint);
}

std::string suggest_network(const std::string& name) {
  const auto command = [](const std::string& network) {
    return "'stagecraft model " + network + " --device KIND --microbatch-size B -o " + network +
           ".yaml' writes a model file of it";
  };
  if (find_architecture(name)) return "it is a known network: " + command(name);
  std::vector<std::string> networks;
  for (const WorkloadInfo& network : known_architectures()) networks.push_back(network.name);
  const std::optional<std::string> nearest = nearest_name(name, networks);
  return nearest ? "did you mean the network " + quote(*nearest) + "? " + command(*nearest) : "";
}

std::string suggest_shipped(const std::string& name, const std::vector<std::string>& known) {
  if (!known.empty()) return suggest_name(name, known);
  return "there are no shipped files in " + quote(data_folder().string()) +
         "; set STAGECRAFT_DATA to the folder with traces, platforms and experiments/studies";
}

std::vector<ShippedFile> shipped_files(const std::string& folder) {
  std::vector<ShippedFile> files;
  std::error_code problem;
  for (const fs::directory_entry& entry : fs::directory_iterator(data_folder() / folder, problem)) {
    const fs::path& path = entry.path();
    if (path.extension() == ".yaml") files.push_back({path.stem().string(), path.string()});
  }
  std::ranges::sort(files, {}, &ShippedFile::name);
  return files;
}

Inputs load_inputs(const std::string& model, const std::string& platform, const std::map<std::string, double>& speeds,
                   const Overrides& overrides, const ModelChoice& choice) {
  const Activity activity("reading the model and the platform");
  const ModelSource source = find_model(model, choice);
  const FileText platform_file = read_input(platform, InputKind::Platform);
  Inputs inputs;
  NamedModel named;
  const auto load = [&](const DescribedPlatform* on) {
    named = load_model(source, choice, {overrides.model, "--set model."}, on);
  };
  if (!source.needs_platform) load(nullptr);
  DescribedPlatform described = with_device_files(
      parse_with(platform_file, overrides.platform, "--set platform.", inputs.platform_hash, parse_platform),
      platform_file.path);
  inputs.platform_hash = with_device_files(inputs.platform_hash, described.spec, platform_file.path);
  if (source.needs_platform) load(&described);
  inputs.model = std::move(named.model);
  inputs.model_hash = std::move(named.hash);
  inputs.computed = std::move(named.computed);
  inputs.remarks = remarks_on(platform_file, overrides.platform);
  inputs.remarks.insert(inputs.remarks.end(), described.remarks.begin(), described.remarks.end());
  if (!source.needs_platform) named.remarks = remarks_on(source.file, overrides.model);
  inputs.remarks.insert(inputs.remarks.end(), named.remarks.begin(), named.remarks.end());
  if (!source.needs_platform && !described.devices.empty()) inputs.remarks.push_back(remark_on_files(source.file.path));
  check_speeds(speeds, described.spec, inputs.model);
  described.spec.speeds = speeds;
  inputs.platform = build_platform(std::move(described.spec));
  fit_to_platform(inputs.model, inputs.platform);
  if (std::string remark = remark_on_speeds(inputs.model, inputs.platform); !remark.empty())
    inputs.remarks.push_back(std::move(remark));
  return inputs;
}

std::optional<bool> has_selective_recompute(const Inputs& inputs) {
  if (inputs.computed.selective_recompute) return inputs.computed.selective_recompute;
  if (inputs.model.recipe) return inputs.model.recipe->selective_recompute;
  return inputs.model.computed ? std::optional(false) : std::nullopt;
}

void fit_to_platform(Model& model, Platform& platform) {
  const bool has_kinds = model.profiles.front().device_kind != model.profiles.back().device_kind;
  if (!model.computed && !has_kinds) {
    use_precision(model.profiles.front().precision, platform);
    return;
  }
  const std::shared_ptr<const ProfileSource> source = profiles_of(model);
  const std::int64_t samples = model.profiles.front().microbatch_size;
  const std::optional<std::string> chosen = chosen_kind(*source, platform);
  if (chosen && *chosen != model.profiles.front().device_kind) put_first(model, *source, *chosen);
  use_precision(model.profiles.front().precision, platform);
  if (chosen) set_speeds(*source, *chosen, samples, platform);
}

Model load_model(const std::string& name) {
  const FileText file = read_input(name, InputKind::Model);
  return parse_model(file.text, file.path);
}

PlatformSpec load_platform_spec(const std::string& name) {
  const FileText file = read_input(name, InputKind::Platform);
  return parse_platform(file.text, file.path);
}

DescribedPlatform load_described_platform(const std::string& name) {
  const FileText file = read_input(name, InputKind::Platform);
  return with_device_files(parse_platform(file.text, file.path), file.path);
}

std::string profiled_sizes_text(const Model& model) {
  const LayerGraph& first = model.profiles.front();
  std::int64_t largest = first.microbatch_size;
  for (const LayerGraph& graph : model.profiles) {
    if (graph.device_kind == first.device_kind) largest = graph.microbatch_size;
  }
  const std::string smallest = std::to_string(first.microbatch_size);
  return largest == first.microbatch_size ? "only " + smallest : smallest + " to " + std::to_string(largest);
}

LayerGraph profile_at(const Model& model, std::optional<std::int64_t> microbatch_size, StashConvention stash,
                      const std::function<void(const std::string&)>& say, const Degrees& degrees) {
  if (const auto problem = degrees_problem(degrees)) throw InputError(*problem);
  if (degrees.devices() > 1) return profile_at(sharded(model, reduced(degrees)), microbatch_size, stash, say);
  if (!microbatch_size) microbatch_size = model.profiles.front().microbatch_size;
  check_growth(model, *microbatch_size);
  LayerGraph graph = at_microbatch_size(model, *microbatch_size);
  if (graph.origin == Origin::Extrapolated) {
    say("warning: microbatches of " + counted(*microbatch_size, "sample") +
        " lie outside the sizes of the profile of " + quote(graph.name) + " (" + profiled_sizes_text(model) +
        "); times and sizes are extrapolated");
  }
  return with_stash(std::move(graph), stash);
}

}  // namespace stagecraft
