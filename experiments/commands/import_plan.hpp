#pragma once

#include "experiments/commands/shared_options.hpp"
#include "experiments/commands/verb.hpp"

#include <optional>
#include <string>

namespace stagecraft {

/// How a plan of another program is turned into a plan file.
struct PlanImport {
  std::string file;
  std::optional<std::string> ranks;  ///< of PipeDream's plans: the configuration of its runtime
  InputOptions inputs;
  PlanningOptions planning;   ///< its schedule, length and memory; the schedule is `pipedream` by default
  bool live_weights = false;  ///< one weight version more than the schedule implies
  std::optional<std::string> output;
};

/// The answer of `import vpipe`: the text of the plan file, or a summary of it if it is written.
/// **Throws** InputError for a file that is no such plan, for another number of blocks than the model has, for more
/// stages than the platform has devices, and for choices that make no sense.
[[nodiscard]] Answer import_vpipe(const PlanImport& import, const Settings& settings);

/// The same of `import pipedream-plan`.
/// **Throws** InputError for files that are no such plan, or none for the model and the platform, and for choices that
/// make no sense.
[[nodiscard]] Answer import_pipedream_plan(const PlanImport& import, const Settings& settings);

/// The same of `import megatron-flags`, which says schedule, length and training itself.
/// **Throws** InputError for flags that are no run for the model and the platform.
[[nodiscard]] Answer import_megatron(const PlanImport& import, const Settings& settings);

}  // namespace stagecraft
