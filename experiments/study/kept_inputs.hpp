#pragma once

#include "experiments/study/cell_inputs.hpp"

#include <chrono>
#include <map>
#include <optional>
#include <string>

namespace stagecraft {

/// Models and platforms, kept for the cells that follow once it is known that they are light: a cell has loaded them in
/// little time. All others may be heavy or harmful, and are left to the process of a cell to load.
class KeptInputs {
 public:
  /// **Requires** a manifest that outlives this.
  explicit KeptInputs(const Manifest& manifest) : manifest_(manifest) {}

  /// Both inputs of a cell: copies of what is kept, and the rest loaded. **Throws** as `load_inputs`.
  [[nodiscard]] Inputs inputs_of(const CellSpec& cell) const;
  /// Whether both are kept.
  [[nodiscard]] bool has(const CellSpec& cell) const;
  /// From now on both inputs of this cell are known to be light.
  void mark_light(const CellSpec& cell);
  /// Keeps the inputs of this cell that are light; whether any had to be loaded for it.
  bool keep(const CellSpec& cell);

 private:
  template <class Input>
  using LightInputs =
      std::map<std::string, std::optional<HashedInput<Input>>>;  ///< by `model_key` or `platform_key`; none: not loaded

  const Manifest& manifest_;
  LightInputs<Model> models_;
  LightInputs<Platform> platforms_;
  std::chrono::steady_clock::duration load_time_{};  ///< of all that is kept
};

}  // namespace stagecraft
