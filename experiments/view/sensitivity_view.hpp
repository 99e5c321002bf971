#pragma once

#include "experiments/run/sensitivity.hpp"
#include "sim/model/detail.hpp"

#include <optional>
#include <string>

namespace stagecraft {

/// A line for each variation with its winner, and a sentence that says whether the winner on the inputs as given stays
/// the winner. `title` names the model and the platform. Without sensitivity, the reason why there is none.
[[nodiscard]] std::string sensitivity_text(const std::string& title, const std::optional<Sensitivity>& sensitivity);

/// `{"winner": …, "survives": …, "survived": …, "given": …, "variations": […]}`; null if there is none.
[[nodiscard]] Detail sensitivity_record(const std::optional<Sensitivity>& sensitivity);

}  // namespace stagecraft
