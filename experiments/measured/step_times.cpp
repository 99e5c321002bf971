#include "experiments/measured/step_times.hpp"

#include "experiments/measured/measured_plan.hpp"
#include "experiments/measured/step_network.hpp"
#include "sim/analytic/evaluate_plan.hpp"
#include "sim/base/text.hpp"
#include "sim/schedule/schedule_family.hpp"
#include "sim/workload/build_model.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cstdint>
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

void StepTimes::remark(const std::string& text) {
  if (std::ranges::find(remarks_, text) == remarks_.end()) remarks_.push_back(text);
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
  StepNetwork found = step_network(step);
  for (const std::string& text : found.remarks) remark(text);
  Architecture architecture = std::move(found.architecture);
  if (const auto text = remark_on_vocabulary(architecture, step.degrees.tensor, device.precision)) remark(*text);
  if (is_selective) architecture = with_selective_recompute(std::move(architecture));
  networks_.push_back({step.model, step.sizes, step.sequence, is_selective,
                       retimed_profile(architecture, device, step.microbatch_size, Granularity::Block, step.degrees)});
  return networks_.size() - 1;
}

}  // namespace stagecraft
