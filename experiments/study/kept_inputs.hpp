#pragma once

#include "experiments/study/cell_inputs.hpp"

#include <chrono>
#include <map>
#include <optional>
#include <string>

namespace stagecraft {

/// Models and platforms that are kept in memory for the next cells. Only light inputs are kept, that is, those that
/// some cell has loaded in a short time. Other inputs may be large or crash the process, so each cell loads them in its
/// child process, under the cell's limits.
class KeptInputs {
 public:
  /// **Requires** a manifest that outlives this.
  explicit KeptInputs(const Manifest& manifest) : manifest_(manifest) {}

  /// Both inputs of a cell: a copy of each that is kept; the others are loaded. **Throws** as `load_inputs`.
  [[nodiscard]] Inputs inputs_of(const CellSpec& cell) const;
  /// Whether both inputs of a cell are kept.
  [[nodiscard]] bool has(const CellSpec& cell) const;
  /// Notes that both inputs of this cell are light.
  void mark_light(const CellSpec& cell);
  /// Loads those light inputs of this cell that are not kept yet, and keeps them. True if any had to be loaded.
  bool keep(const CellSpec& cell);

 private:
  template <class Input>
  using LightInputs =
      std::map<std::string, std::optional<HashedInput<Input>>>;  ///< by `model_key` or `platform_key`; none: not loaded

  const Manifest& manifest_;
  LightInputs<Model> models_;
  LightInputs<Platform> platforms_;
  std::chrono::steady_clock::duration load_time_{};  ///< of all kept inputs together
};

}  // namespace stagecraft
