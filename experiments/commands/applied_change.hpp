#pragma once

#include "experiments/commands/simulated_run.hpp"
#include "experiments/run/remedy.hpp"
#include "sim/model/plan.hpp"

#include <cstdint>
#include <optional>
#include <string>

namespace CLI {
class App;
}

namespace stagecraft {

/// Which of the changes that would make a plan fit is applied to it, and where the changed plan is written.
struct ApplyOptions {
  std::optional<std::string> number;
  std::optional<std::string> output;
};
void add_apply_options(CLI::App& command, ApplyOptions& options);

/// The number of the change, from 1; none if nothing is applied.
/// **Throws** InputError for one of the options without the other, and for a run of which no plan can be written.
[[nodiscard]] std::optional<std::int64_t> read_apply_options(const ApplyOptions& options,
                                                             const SimulatedRunOptions& run);

/// The plan with the change of that number, as one for the model and the platform of the run. `remedies` are those of
/// the run.
/// **Throws** InputError if the plan fits as it is, if there is no such change, and if it is one of the platform.
[[nodiscard]] Plan changed_plan(const SimulatedRun& run, const Remedies& remedies, std::int64_t number);

}  // namespace stagecraft
