#pragma once

#include "experiments/run/planning_choices.hpp"
#include "experiments/run/search_axes.hpp"

#include <optional>
#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace stagecraft {

/// Options that say into how many devices each replica is divided, as the user typed them.
struct GroupOptions {
  bool offers_auto = false;               ///< whether the verb takes `auto` for `tensor`
  std::vector<SearchAxis> searched = {};  ///< of which a search tries several values
  std::optional<std::string> tensor;
  std::optional<std::string> sequence_parallel;
  std::optional<std::string> context;
  std::optional<std::string> context_attention;
  std::optional<std::string> expert;
  std::optional<std::string> imbalance;
  std::optional<std::string> capacity;
};
void add_group_options(CLI::App& command, GroupOptions& options);

/// Sets the choices' degrees. **Throws** InputError for values that make no sense, alone or together.
void read_group_options(const GroupOptions& options, PlanningChoices& choices);

}  // namespace stagecraft
