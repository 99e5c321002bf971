#include "experiments/commands/add_option.hpp"
#include "experiments/commands/model_answer.hpp"
#include "experiments/commands/verbs.hpp"
#include "experiments/run/limits.hpp"
#include "experiments/run/option_text.hpp"
#include "experiments/run/written_file.hpp"
#include "sim/io/import_pipedream.hpp"
#include "sim/io/text_file.hpp"

#include <memory>

namespace stagecraft {
namespace {

struct ImportOptions {
  std::string format;
  std::string file;
  std::string microbatch_size;
  std::string device;
  std::optional<std::string> output;
};

VerbAction configure_import(CLI::App& command) {
  auto options = std::make_shared<ImportOptions>();
  add_required(command, "FORMAT", options->format, "pipedream: the graph text of PipeDream's profiler");
  add_required(command, "FILE", options->file, "the profile");
  add_required(command, "--microbatch-size", options->microbatch_size, "samples in the microbatch that was profiled");
  add_required(command, "--device", options->device, "kind of device on which the times were measured");
  add_option(command, "-o,--output", options->output,
             "write the model to this file, as JSON if its name ends in .json");
  return [options](const Settings&) {
    static_cast<void>(read_choice_option("FORMAT", options->format, {"pipedream"}));
    const auto size = read_count_option("--microbatch-size", options->microbatch_size, 1, run_limits::kMostSamples);
    const std::string device = read_name_option("--device", options->device);
    refuse_overwriting(options->output, {options->file});
    const std::string text = read_text_file(options->file);
    return model_answer(import_pipedream(text, options->file, size, device), options->output);
  };
}

}  // namespace

const Verb import_verb{
    .name = "import",
    .summary = "turn another tool's profile into a model file",
    .configure = configure_import,
};

}  // namespace stagecraft
