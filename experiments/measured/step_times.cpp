#include "experiments/measured/step_times.hpp"

#include "experiments/measured/measured_plan.hpp"
#include "experiments/run/named_model.hpp"
#include "sim/analytic/evaluate_plan.hpp"
#include "sim/base/text.hpp"
#include "sim/io/architecture_file.hpp"
#include "sim/io/hf_config.hpp"
#include "sim/io/yaml_node.hpp"
#include "sim/schedule/schedule_family.hpp"
#include "sim/workload/build_model.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <utility>

namespace stagecraft {
namespace {

constexpr std::int64_t kEvenRow = 16;            ///< bytes
constexpr std::int64_t kMegatronMultiple = 128;  ///< its flag --make-vocab-size-divisible-by, of each member

/// The same error at the row of the step, unless it is one of a file that the row names.
[[noreturn]] void refuse_at(const MeasuredStep& step, const InputError& error) {
  if (!error.place().file.empty()) throw error;
  InputPlace place = step.place;
  place.key = error.place().key;
  throw InputError(error.message(), place, error.hint());
}

[[noreturn]] void refuse_sizes(const MeasuredStep& step) {
  throw InputError("the sizes of " + quote(step.model) + " are fixed", {"", 0, 0, step.sizes.front().first},
                   "an architecture file has sizes that a row may replace");
}

/// **Throws** InputError where the schedule cannot run the plan. What a schedule advises are options of planners.
void require_runs(const MeasuredStep& step, const LayerGraph& graph, const Platform& platform, const Plan& plan) {
  try {
    static_cast<void>(require_schedule(graph, platform, plan));
  } catch (const InputError& error) {
    throw InputError(error.message(), step.place);
  }
}

/// A remark on a vocabulary whose rows are odd on each of so many members; none if they are not.
std::optional<std::string> remark_on_vocabulary(const Architecture& network, std::int64_t members,
                                                Precision precision) {
  const std::int64_t words = network.sizes ? network.sizes->vocabulary.value_or(0) : 0;
  if (words * value_bytes(precision) % (kEvenRow * members) == 0) return std::nullopt;
  const std::int64_t multiple = kMegatronMultiple * members;
  const std::string among = members == 1 ? "" : fmt::format(" for {} devices", members);
  return fmt::format(
      "{}: a vocabulary of {} words has odd rows, with which products take longer; Megatron-LM pads it "
      "to {}{}",
      network.name, words, (words + multiple - 1) / multiple * multiple, among);
}

}  // namespace

FileText network_file(const MeasuredStep& step) {
  const std::string base = std::filesystem::path(step.place.file).parent_path().string();
  ModelSource source = find_model(step.model, {}, base);
  if (is_description(source.file)) return std::move(source.file);
  throw InputError(quote(step.model) + " is no network", {},
                   "the constants of a device change no figures of a model file; give a name from 'stagecraft list "
                   "architectures', an architecture file or a config.json");
}

void StepTimes::remark(const std::string& text) {
  if (std::ranges::find(remarks_, text) == remarks_.end()) remarks_.push_back(text);
}

/// The network of a step: known by name, or of a file beside the table.
Architecture StepTimes::architecture_of(const MeasuredStep& step) {
  if (is_network(step.model)) {
    if (!step.sizes.empty()) refuse_sizes(step);
    return known_network(step.model, {.computed = {.sequence = step.sequence}, .prefix = ""});
  }
  const FileText file = network_file(step);
  if (is_hf_config(parse_yaml(file.text, file.path))) {
    if (!step.sizes.empty()) refuse_sizes(step);
    HfConfig config = parse_hf_config(file.text, file.path, step.sequence);
    for (const auto* texts : {&config.notes, &config.warnings}) {
      for (const std::string& text : *texts) remark(file.path + ": " + text);
    }
    return std::move(config.network);
  }
  if (step.sequence) return read_architecture_at(file, *step.sequence, {step.sizes, ""}, "sequence");
  std::string hash;
  return parse_with(file, step.sizes, "", hash, parse_architecture);
}

StepTimes::StepTimes(const std::vector<MeasuredStep>& steps, const Platform& platform, const DeviceDescription& device)
    : platform_(platform) {
  for (const MeasuredStep& step : steps) {
    try {
      const std::size_t network = network_of(step, device);
      Plan plan = measured_plan(step, networks_[network].profile.graph, platform);
      require_runs(step, networks_[network].profile.graph, platform, plan);
      runs_.push_back({network, std::move(plan)});
    } catch (const InputError& error) {
      refuse_at(step, error);
    }
  }
}

Seconds StepTimes::time(std::size_t step) const {
  return evaluate_iteration(graph(step), platform_, require_schedule(graph(step), platform_, plan(step)));
}

Report StepTimes::report(std::size_t step) const { return evaluate_plan(graph(step), platform_, plan(step)); }

std::vector<double> StepTimes::at(const DeviceDescription& device) {
  for (Network& network : networks_) retime(network.profile, device);
  std::vector<double> times;
  times.reserve(runs_.size());
  for (std::size_t s = 0; s < runs_.size(); ++s) times.push_back(time(s).value());
  return times;
}

std::size_t StepTimes::network_of(const MeasuredStep& step, const DeviceDescription& device) {
  const bool is_selective = step.training.recompute == RecomputedPart::Attention;
  for (std::size_t n = 0; n < networks_.size(); ++n) {
    const Network& network = networks_[n];
    const LayerGraph& graph = network.profile.graph;
    if (network.model == step.model && network.sequence == step.sequence && network.sizes == step.sizes &&
        network.is_selective == is_selective && graph.microbatch_size == step.microbatch_size &&
        graph.degrees == step.degrees) {
      return n;
    }
  }
  Architecture architecture = architecture_of(step);
  if (const auto text = remark_on_vocabulary(architecture, step.degrees.tensor, device.precision)) remark(*text);
  if (is_selective) architecture = with_selective_recompute(std::move(architecture));
  networks_.push_back({step.model, step.sizes, step.sequence, is_selective,
                       retimed_profile(architecture, device, step.microbatch_size, Granularity::Block, step.degrees)});
  return networks_.size() - 1;
}

}  // namespace stagecraft
