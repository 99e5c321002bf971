#pragma once

#include "experiments/commands/verb.hpp"
#include "experiments/measured/kineto_layers.hpp"

#include <optional>
#include <string>
#include <vector>

namespace stagecraft {

/// Traces of the PyTorch profiler, one for each rank, and what a model needs beside them.
struct KinetoImport {
  std::vector<std::string> files;
  KinetoChoice choice;
  std::optional<std::string> microbatch_size;  ///< required for a model
  std::optional<std::string> device;           ///< likewise
  bool without_shapes = false;
  bool timeline = false;  ///< the answer lists operations
  std::optional<std::string> output;
};

/// The answer of `import kineto`: the layers of each trace, where the time of its kernels goes, and the transfers among
/// the ranks. With `output` the model is written there, or is the answer if that is `-`.
/// **Throws** InputError as `read_kineto_trace`, `profile_kineto` and `kineto_model`.
[[nodiscard]] Answer import_kineto(const KinetoImport& import, const Settings& settings);

}  // namespace stagecraft
