#pragma once

#include "experiments/run/inputs.hpp"
#include "experiments/study/cell_spec.hpp"
#include "experiments/study/manifest.hpp"

#include <string>

namespace stagecraft {

/// The model and the platform of a cell, with the values that its keys `model.…` and `platform.…` give in place of
/// those of the files.
/// **Throws** InputError for values that the file's format does not take.
[[nodiscard]] Inputs load_inputs(const Manifest& manifest, const CellSpec& cell);

/// One of them, with the SHA-256 of its file.
template <class Input>
struct HashedInput {
  Input input;
  std::string hash;
};
[[nodiscard]] HashedInput<Model> load_model(const Manifest& manifest, const CellSpec& cell);
[[nodiscard]] HashedInput<Platform> load_platform(const Manifest& manifest, const CellSpec& cell);

/// Equal for cells with equal models.
[[nodiscard]] std::string model_key(const CellSpec& cell);
/// Likewise platforms.
[[nodiscard]] std::string platform_key(const CellSpec& cell);

/// **Throws** InputError if a file is no longer as it was when the study began.
void check_files(const Manifest& manifest);

}  // namespace stagecraft
