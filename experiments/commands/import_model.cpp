#include "experiments/commands/import_model.hpp"

#include "experiments/commands/model_answer.hpp"
#include "experiments/run/limits.hpp"
#include "experiments/run/option_text.hpp"
#include "experiments/run/written_file.hpp"
#include "sim/base/counted.hpp"
#include "sim/base/error.hpp"
#include "sim/base/text.hpp"
#include "sim/io/import_dnn_partitioning.hpp"
#include "sim/io/import_pipedream.hpp"
#include "sim/io/import_piper.hpp"
#include "sim/io/pipedream_graph.hpp"
#include "sim/io/text_file.hpp"

#include <fmt/core.h>

#include <cstdint>
#include <string_view>

namespace stagecraft {
namespace {

/// Computing takes so many times as long as every edge takes to cross the bandwidth of the file: no planner would then
/// look at transfers, and its users would not profile them.
constexpr double kAbsurdRatio = 100.0;

std::int64_t read_profiled_size(const std::string& text) {
  return read_count_option("--microbatch-size", text, 1, run_limits::kMostSamples);
}

/// The samples of `bert-24-pbs-6.txt`.
std::optional<std::int64_t> size_in_name(const std::string& file) {
  constexpr std::string_view kMark = "pbs-";
  const std::string stem = file_stem(file);
  const std::size_t mark = stem.rfind(kMark);
  if (mark == std::string::npos) return std::nullopt;
  const std::size_t begin = mark + kMark.size();
  const Parsed<std::int64_t> size =
      parse_count(stem.substr(begin, stem.find_first_not_of("0123456789", begin) - begin));
  if (!size || *size.value < 1 || *size.value > run_limits::kMostSamples) return std::nullopt;
  return size.value;
}

void note_stages(const PipedreamGraph& graph, const Settings& settings) {
  if (!has_stages(graph)) return;
  settings.say(
      "note: the model has the layers of the graph and not its stages (stage_id); stagecraft import pipedream-plan "
      "makes them a plan");
}

/// Reads the options before the file, so that each refusal comes before any work.
Answer import_graph(const ModelImport& import, std::int64_t size, const Settings& settings) {
  const std::string device = read_name_option("--device", import.device);
  refuse_overwriting(import.output, OutputKind::ModelFile, {import.file});
  const PipedreamGraph graph = parse_pipedream_graph(read_text_file(import.file), import.file);
  Answer answer = model_answer(import_pipedream(graph, size, device), import.output);
  note_stages(graph, settings);
  return answer;
}

std::string read_time_unit(const ModelImport& import, const std::string& usual) {
  return read_choice_option("--time-unit", import.time_unit.value_or(usual), {"s", "ms", "us", "ns"});
}

}  // namespace

void tell_left_out_degrees(const Settings& settings) {
  settings.say("note: the model is that of one device; what the file says of tensor parallelism is left out");
}

Answer import_pipedream_profile(const ModelImport& import, const Settings& settings) {
  return import_graph(import, read_profiled_size(*import.microbatch_size), settings);
}

Answer import_dapple_profile(const ModelImport& import, const Settings& settings) {
  if (import.microbatch_size) return import_graph(import, read_profiled_size(*import.microbatch_size), settings);
  const std::optional<std::int64_t> size = size_in_name(import.file);
  if (!size) {
    throw InputError("the name of the file does not tell the samples that were profiled, as bert-24-pbs-6.txt does",
                     {import.file, 0, 0, ""}, "give --microbatch-size");
  }
  return import_graph(import, *size, settings);
}

Answer import_piper_profile(const ModelImport& import, const Settings& settings) {
  const std::int64_t size = read_profiled_size(*import.microbatch_size);
  const std::string device = read_name_option("--device", import.device);
  const std::string unit = read_time_unit(import, "s");
  refuse_overwriting(import.output, OutputKind::ModelFile, {import.file});
  const PiperProfile profile = import_piper(read_text_file(import.file), import.file, size, device, unit);
  Answer answer = model_answer(profile.model, import.output);
  if (profile.compute_per_transfer > kAbsurdRatio) {
    settings.say(fmt::format(
        "warning: all layers take {:.0f} times as long as all edges at the bandwidth of the file; if the times are "
        "in another unit, say so: --time-unit ms",
        profile.compute_per_transfer));
  }
  if (profile.has_further_degrees) tell_left_out_degrees(settings);
  return answer;
}

Answer import_dnn_partitioning_profile(const ModelImport& import, const Settings& settings) {
  const std::int64_t size = read_profiled_size(*import.microbatch_size);
  const std::string device = read_name_option("--device", import.device);
  const std::string unit = read_time_unit(import, "ms");
  refuse_overwriting(import.output, OutputKind::ModelFile, {import.file});
  const DnnPartitioningProfile profile =
      import_dnn_partitioning(read_text_file(import.file), import.file, size, device, unit);
  Answer answer = model_answer(profile.model, import.output);
  if (!profile.has_backwards) settings.say("note: the file is of inference: it has no backward nodes");
  if (profile.without_parts > 0) {
    settings.say("note: the file does not tell parameters from activations of " +
                 counted(profile.without_parts, "node") + " that " + (profile.without_parts == 1 ? "sends" : "send") +
                 " nothing; their sizes count as stash");
  }
  return answer;
}

}  // namespace stagecraft
