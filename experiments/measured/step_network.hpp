#pragma once

#include "experiments/measured/measured_steps.hpp"
#include "experiments/run/overrides.hpp"
#include "sim/workload/architecture.hpp"

#include <optional>
#include <string>
#include <vector>

namespace stagecraft {

/// The file of the step's network. **Requires** a step whose model is not known by name.
/// **Throws** InputError if there is none, or it describes no network.
[[nodiscard]] FileText network_file(const MeasuredStep& step);

/// The network of a measured step.
struct StepNetwork {
  Architecture architecture;
  std::vector<std::string> remarks;  ///< keys of its file that were not read, a length of samples that was chosen
};

/// The network of a step, known by name or of a file beside the table, with the sizes of the row.
/// **Throws** InputError for a network that is not known, and at the column for a size that it cannot have.
[[nodiscard]] StepNetwork step_network(const MeasuredStep& step);

/// The keys that the step's architecture file gives; none of another network, whose sizes no row replaces.
/// **Throws** InputError for a network that is not known.
[[nodiscard]] std::optional<std::vector<std::string>> architecture_keys(const MeasuredStep& step);

}  // namespace stagecraft
