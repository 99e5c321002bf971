#pragma once

#include "experiments/measured/kineto_layers.hpp"
#include "sim/io/kineto_trace.hpp"

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace stagecraft {

/// Kernels from the start of the first one to the end of the last one.
struct KernelExtent {
  Nanoseconds start = 0;
  Nanoseconds end = 0;
};

/// Where a layer writes.
enum class KinetoPlace : std::uint8_t {
  Unknown,
  Input,  ///< all its operators work in the memory of what they read, as `aten::relu_`
  Other,
};

/// A run of a layer: one of its ranges, or an operator.
struct KinetoExecution {
  std::uint32_t scope = 0;  ///< position in the trace's scopes
  Nanoseconds first = 0;    ///< launch of its first kernel of the forward; the start of its range if it has none
  bool recomputes = false;  ///< it is inside the backward
  KernelSum forward;
  KernelSum backward;
  KernelExtent forward_extent;   ///< if `forward` has kernels
  KernelExtent backward_extent;  ///< likewise
  KinetoShapes shapes;           ///< the input of its first operator that has one; parameters of all of them
  KinetoPlace place = KinetoPlace::Unknown;
  bool counts = false;  ///< `shapes` are so far those of a number that is updated in place
};

/// Executions with at least one kernel, by `first`, and the kernels of none.
struct KinetoExecutions {
  bool are_operators = false;
  std::vector<KinetoExecution> all;
  std::array<KernelSum, kNoLayers> unattributed{};
};

/// Finds the executions of layers in a trace, as `profile_kineto` describes; `layers` is that of its choice.
/// **Throws** InputError for a pattern that no name fits.
[[nodiscard]] KinetoExecutions find_executions(const KinetoTrace& trace, const std::optional<std::string>& layers);

/// Makes an extent contain another one; `is_first` if it contains nothing yet.
void extend(KernelExtent& extent, const KernelExtent& other, bool is_first);

/// Whether a name fits a pattern, in which `*` stands for any characters.
[[nodiscard]] bool fits_pattern(std::string_view name, std::string_view pattern);

}  // namespace stagecraft
