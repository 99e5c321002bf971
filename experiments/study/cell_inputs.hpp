#pragma once

#include "experiments/run/inputs.hpp"
#include "experiments/study/cell_spec.hpp"
#include "experiments/study/manifest.hpp"

#include <string>
#include <vector>

namespace stagecraft {

/// The model and the platform of a cell. The cell's keys `model.…` and `platform.…` replace values of the files.
/// **Throws** InputError for values that the file's format does not allow.
[[nodiscard]] Inputs load_inputs(const Manifest& manifest, const CellSpec& cell);

/// A model or a platform, with the SHA-256 of its file's content after overrides.
template <class Input>
struct HashedInput {
  Input input;
  std::string hash;
};
[[nodiscard]] HashedInput<Model> load_model(const Manifest& manifest, const CellSpec& cell);
[[nodiscard]] HashedInput<Platform> load_platform(const Manifest& manifest, const CellSpec& cell);

/// The remarks on the cell's model if it is a `config.json`. **Throws** as `load_inputs`.
[[nodiscard]] std::vector<std::string> remarks_on_model(const Manifest& manifest, const CellSpec& cell);

/// **Throws** InputError where the files with the cell's values are refused as they are read. Builds no platform.
void check_values(const Manifest& manifest, const CellSpec& cell);

/// Both, with the model's profile for the platform (`fit_to_platform`).
[[nodiscard]] Inputs joined(HashedInput<Model> model, HashedInput<Platform> platform);

/// Cells with equal keys have equal models. Networks are computed for the cell's platform.
[[nodiscard]] std::string model_key(const Manifest& manifest, const CellSpec& cell);
/// Cells with equal keys have equal platforms.
[[nodiscard]] std::string platform_key(const CellSpec& cell);

/// **Throws** InputError if a file has changed since the study began.
void check_files(const Manifest& manifest);

}  // namespace stagecraft
