#include "experiments/run/event_models.hpp"

#include "experiments/run/inputs.hpp"
#include "sim/base/error.hpp"
#include "sim/io/model_file.hpp"
#include "sim/io/sha256.hpp"
#include "sim/io/text_file.hpp"

#include <filesystem>
#include <utility>
#include <variant>

namespace stagecraft {
namespace {

std::string path_of(const NamedEvent& named, const std::string& folder) {
  try {
    return find_input(named.names.front(), InputKind::Model, folder);
  } catch (const InputError& error) {
    throw InputError(error.message(), named.place, error.hint());
  }
}

}  // namespace

EventModels load_event_models(const EventsFile& file, const Platform& platform) {
  const std::string folder = std::filesystem::path(file.path).parent_path().string();
  EventModels loaded{{}, file.sha256};
  for (const NamedEvent& named : file.events) {
    if (!std::holds_alternative<ModelChange>(named.event.change)) continue;
    const std::string path = path_of(named, folder);
    loaded.sha256 = sha256(loaded.sha256 + sha256(read_text_file(path)));
    Model model = load_model(path);
    Platform fitted = platform;
    fit_to_platform(model, fitted);
    loaded.models.push_back(std::move(model));
  }
  return loaded;
}

}  // namespace stagecraft
