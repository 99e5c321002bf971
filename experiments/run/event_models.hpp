#pragma once

#include "sim/io/events_file.hpp"
#include "sim/model/layer_graph.hpp"
#include "sim/model/platform.hpp"

#include <string>
#include <vector>

namespace stagecraft {

/// The models that an events file names.
struct EventModels {
  std::vector<Model> models;  ///< in the order of the file, with their profiles chosen for the platform
  std::string sha256;         ///< of the events file and of all files that it names
};

/// Loads them. A name is a path relative to the folder of the events file, or that of a shipped model.
/// **Throws** InputError naming the place of a name that is neither, and for an error in a model file.
[[nodiscard]] EventModels load_event_models(const EventsFile& file, const Platform& platform);

}  // namespace stagecraft
