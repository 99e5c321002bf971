#pragma once

#include "sim/workload/architecture.hpp"

#include <string>

namespace stagecraft {

/// The layer that an operator belongs to, and its type.
struct Place {
  std::string name;
  std::string type;  ///< equal for layers with equal figures; may be empty
  friend bool operator==(const Place&, const Place&) = default;
};

/// The place of each operator. Operators of one name form one layer.
///
/// A residual block has the operators up to an addition (`Operator::ends_residual`) and the name of the addition's
/// layer; the last one has what follows the last addition. Operators at the start of a block that its addition does not
/// need belong to the block before.
/// **Throws** InputError for a network without such additions, at `Granularity::Residual`, and for one with operators
/// that are recomputed, at `Granularity::Operator`.
/// **Cost** O(operators log operators).
[[nodiscard]] IndexVector<OperatorId, Place> places_of(const Architecture& architecture, Granularity granularity);

}  // namespace stagecraft
