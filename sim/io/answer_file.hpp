#pragma once

#include "sim/base/quantity.hpp"
#include "sim/io/plan_file.hpp"
#include "sim/model/detail.hpp"
#include "sim/model/layer_graph.hpp"
#include "sim/model/platform.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

namespace stagecraft {

/// A plan that an external planner has answered.
struct PlannerAnswer {
  PlanReading reading;
  bool states_training = false;  ///< whether the answer gives `training`; if not, the plan has the defaults
  Detail::Record details;        ///< figures that only this planner gives
};

/// An external planner's answer that there is no plan.
struct PlannerRefusal {
  std::string reason;
  std::optional<DeviceId> device;
  std::optional<std::uint32_t> stage;
  Bytes excess;
  std::optional<Bytes> smallest_memory;
  std::string hint;
};

/// The answer to a request (docs/reference/formats/request.md): a plan file, `{"plan": …, "details": {…}}` or
/// `{"infeasible": {…}}`.
/// **Requires** an acyclic graph.
/// **Throws** InputError for anything else.
[[nodiscard]] std::variant<PlannerAnswer, PlannerRefusal> parse_answer(std::string_view text,
                                                                       const std::string& file_name,
                                                                       const LayerGraph& graph,
                                                                       const Platform& platform);

}  // namespace stagecraft
