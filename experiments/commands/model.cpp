#include "experiments/commands/add_option.hpp"
#include "experiments/commands/model_answer.hpp"
#include "experiments/commands/named_device.hpp"
#include "experiments/commands/shared_options.hpp"
#include "experiments/commands/verbs.hpp"
#include "experiments/run/limits.hpp"
#include "experiments/run/named_model.hpp"
#include "experiments/run/option_text.hpp"
#include "experiments/run/written_file.hpp"
#include "sim/base/error.hpp"
#include "sim/base/text.hpp"
#include "sim/io/architecture_file.hpp"
#include "sim/io/hf_config.hpp"
#include "sim/io/model_file.hpp"
#include "sim/io/text_file.hpp"
#include "sim/io/yaml_node.hpp"
#include "sim/workload/build_model.hpp"
#include "sim/workload/catalogue.hpp"
#include "sim/workload/computed_profiles.hpp"
#include "sim/workload/image_draft.hpp"
#include "sim/workload/transformer.hpp"

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace stagecraft {
namespace {

struct ModelOptions {
  std::optional<std::string> architecture;
  std::optional<std::string> config;
  std::string device;
  std::string microbatch_size;
  std::string granularity = "layer";
  std::optional<std::string> image;
  std::optional<std::string> sequence;
  std::optional<std::string> precision;
  bool selective_recompute = false;
  bool only_recipe = false;
  std::optional<std::string> output;
};

template <class Known>
std::vector<std::string> names_of(const std::vector<Known>& known) {
  std::vector<std::string> names;
  for (const Known& entry : known) names.push_back(entry.name);
  return names;
}

[[noreturn]] void refuse_unknown(const std::string& name) {
  throw InputError("no file and no known network is called " + quote(name), {},
                   suggest_name(name, names_of(known_architectures())));
}

/// A known network with images of that size. Only a network known by name takes the size from the command line.
Architecture load_architecture_at(const std::string& name, std::int64_t pixels) {
  if (auto known = find_architecture(name, pixels)) return *std::move(known);
  throw InputError(quote(name) + " is not a network for images known by name", {"", 0, 0, "--image"},
                   "an architecture file has its own key 'image'");
}

void refuse_both(const ModelOptions& options) {
  if (!options.image || !options.sequence) return;
  throw InputError("a network takes either images or sequences", {"", 0, 0, "--sequence"}, "leave one option out");
}

/// The text of an architecture file. **Throws** InputError for a configuration file.
FileText read_description(const std::string& path) {
  FileText file{path, read_text_file(path)};
  if (is_hf_config(parse_yaml(file.text, path))) {
    throw InputError("expected an architecture file, found a configuration file", {path, 0, 0, ""},
                     "--config takes it");
  }
  return file;
}

/// A network with samples of that many tokens: known by name, or of a file.
Architecture load_architecture_of(const std::string& name, std::int64_t tokens) {
  const InputPlace place{"", 0, 0, "--sequence"};
  try {
    if (auto known = find_sequence_network(name, tokens)) return *std::move(known);
  } catch (const InputError& error) {
    throw InputError(error.message(), place, error.hint());
  }
  if (find_architecture(name)) {
    throw InputError("the network " + quote(name) + " takes images", place, "--image gives another size");
  }
  if (may_be_file(name)) return read_architecture_at(read_description(name), tokens, {}, place);
  refuse_unknown(name);
}

Architecture load_architecture_file(const std::string& path) {
  const FileText file = read_description(path);
  return parse_architecture(file.text, path);
}

/// A known name comes first, then a file.
Architecture load_architecture(const std::string& name) {
  if (auto known = find_architecture(name)) return *std::move(known);
  if (may_be_file(name)) return load_architecture_file(name);
  refuse_unknown(name);
}

std::optional<std::int64_t> image_of(const ModelOptions& options) {
  if (!options.image) return std::nullopt;
  return read_count_option("--image", *options.image, 1, ImageLimits::kPixels);
}

std::optional<std::int64_t> sequence_of(const ModelOptions& options) {
  if (!options.sequence) return std::nullopt;
  return read_count_option("--sequence", *options.sequence, 1, largest_transformer().sequence);
}

Architecture chosen_architecture(const std::string& name, const Recipe& recipe) {
  if (recipe.image) return load_architecture_at(name, *recipe.image);
  return recipe.sequence ? load_architecture_of(name, *recipe.sequence) : load_architecture(name);
}

void refuse_options_of_names(const ModelOptions& options) {
  if (!options.config && !options.architecture) {
    throw InputError("NAME is required, or --config", {},
                     "a name from 'stagecraft list architectures', an architecture file, or --config FILE");
  }
  if (!options.config) return;
  const auto refuse = [](bool given, const std::string& message, const std::string& option, const std::string& hint) {
    if (given) throw InputError(message, {"", 0, 0, option}, hint);
  };
  refuse(options.architecture.has_value(), "a model has one network, and NAME gives another", "--config",
         "leave NAME or --config out");
  refuse(options.image.has_value(), "only a network known by name has other images", "--image",
         "a configuration file has its own key 'image_size'");
  refuse(options.only_recipe, "only a network and a device known by name have a recipe", "--recipe",
         "leave it out: the figures are written into the file");
}

/// The network of a configuration file; the user sees what was read otherwise than written.
Architecture load_config(const std::string& path, const std::optional<std::int64_t>& tokens, const Settings& settings) {
  HfConfig config = read_hf_config(path, tokens);
  for (const std::string& note : config.notes) settings.say("note: " + path + ": " + note);
  for (const std::string& warning : config.warnings) settings.say("warning: " + path + ": " + warning);
  return std::move(config.network);
}

/// Increasing.
std::vector<std::int64_t> sizes_of(const std::string& text) {
  std::vector<std::int64_t> sizes;
  for (const std::string& item : read_list_option("--microbatch-size", text)) {
    sizes.push_back(read_count_option("--microbatch-size", item, 1, run_limits::kMostSamples));
  }
  std::ranges::sort(sizes);
  const auto again = std::ranges::adjacent_find(sizes);
  if (again == sizes.end()) return sizes;
  throw InputError("the size " + std::to_string(*again) + " comes twice", {"", 0, 0, "--microbatch-size"});
}

/// The network as its figures are computed; the user sees what selective recomputation does to it.
Architecture computed_network(Architecture network, bool selective_recompute, const Settings& settings) {
  if (!selective_recompute) return network;
  network = with_selective_recompute(std::move(network));
  settings.say("note: " + network.name + ": " + recompute_remark(network));
  return network;
}

Answer answer_model(const ModelOptions& options, const Settings& settings) {
  const std::vector<std::int64_t> sizes = sizes_of(options.microbatch_size);
  const std::string granularity =
      read_choice_option("--granularity", options.granularity, {"operator", "layer", "residual", "block"});
  refuse_options_of_names(options);
  const std::string name = options.config ? *options.config : *options.architecture;
  refuse_overwriting(options.output, OutputKind::ModelFile, {name, options.device});
  Recipe recipe{name,
                image_of(options),
                granularity,
                chosen_precision(options.device, options.precision),
                sequence_of(options),
                options.selective_recompute};
  refuse_both(options);
  const Architecture architecture = computed_network(
      options.config ? load_config(name, recipe.sequence, settings) : chosen_architecture(name, recipe),
      recipe.selective_recompute, settings);
  DeviceDescription device = load_device(options.device, settings);
  if (recipe.precision == to_string(device.precision)) recipe.precision.reset();
  if (recipe.precision) device = in_precision(device, *recipe.precision);
  const auto made = [&](std::int64_t size) {
    const auto known = options.config ? std::nullopt : computed_model(recipe, options.device, size);
    Model model = known ? *known : build_model(architecture, device, size, *granularity_of(granularity));
    check_graph(model.profiles.front(), {});
    return model;
  };
  Model model = made(sizes.front());
  if (model.recipe && sizes.size() > 1) {
    throw InputError("a file of a network and a device known by name knows all sizes from one",
                     {"", 0, 0, "--microbatch-size"}, "give one size");
  }
  for (const std::int64_t size : std::span(sizes).subspan(1)) model.profiles.push_back(made(size).profiles.front());
  if (options.only_recipe && !model.recipe) {
    throw InputError("only a network and a device known by name have a recipe", {"", 0, 0, "--recipe"},
                     "see 'stagecraft list architectures' and 'stagecraft list devices'");
  }
  return model_answer(model, options.output, options.only_recipe, &architecture);
}

VerbAction configure_model(CLI::App& command) {
  auto options = std::make_shared<ModelOptions>();
  add_option(command, "NAME", options->architecture,
             "a name from 'stagecraft list architectures', or an architecture file; or --config");
  add_required(command, "--device", options->device, "a name from 'stagecraft list devices', or a device file");
  add_required(command, "--microbatch-size", options->microbatch_size,
               "samples in a microbatch, or several sizes B,B,…: a profile of each");
  add_option(command, "--config", options->config,
             "the config.json of a Hugging Face model, in place of NAME: of a known model_type");
  add_option(command, "--granularity", options->granularity,
             "what one layer of the model stands for: operator, layer, residual or block");
  add_option(command, "--image", options->image, "edge of the images in pixels, for an image network known by name");
  add_option(command, "--sequence", options->sequence,
             "tokens in a sample (of an encoder-decoder: that the encoder reads), for a network for sequences");
  add_option(command, "--precision", options->precision,
             "fp32, tf32, bf16, fp16 or fp8: the mode to compute in; default: bf16 or else fp16 where a known "
             "device has it, or else that of the device's description");
  add_flag(command, "--selective-recompute", options->selective_recompute,
           "the backward computes attention that is not fused again, and its scores are not kept");
  add_flag(command, "--recipe", options->only_recipe,
           "leave the figures out of the file; they are computed whenever it is read");
  add_option(command, "-o,--output", options->output,
             "write the model to this file, as JSON if its name ends in .json");
  return [options](const Settings& settings) { return answer_model(*options, settings); };
}

}  // namespace

const Verb model_verb{
    .name = "model",
    .summary = "compute a model file from a network and a description of a device",
    .configure = configure_model,
    .examples = {"stagecraft model resnet50 --device A100-SXM4-80GB --microbatch-size 32 -o resnet50.yaml",
                 "stagecraft model --config config.json --device H100-SXM5-80GB --microbatch-size 1 -o model.yaml"},
};

}  // namespace stagecraft
