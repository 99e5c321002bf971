#pragma once

#include "sim/io/kineto_trace.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace stagecraft {

/// An input of an operator as the profiler records it: the elements of a tensor, or of all tensors of a list.
struct KinetoInput {
  std::int64_t elements = 0;
  std::string type;         ///< `float`, `c10::Half`, `Scalar`, …
  std::int64_t first = -1;  ///< its first dimension; -1: it has none, or is a list
};

/// Bytes of an element of a type, as the profiler (`long int`) or NCCL's events (`Float`) call it; none for what is no
/// tensor.
[[nodiscard]] std::optional<std::int64_t> element_bytes(std::string_view type);

/// What the inputs of an operator say: of operators that are known to have parameters, which of their inputs these are;
/// of all others the first tensor is the input, and none are parameters.
[[nodiscard]] KinetoShapes kineto_shapes(std::string_view name, const std::vector<KinetoInput>& inputs);

}  // namespace stagecraft
