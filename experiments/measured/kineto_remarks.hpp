#pragma once

#include "experiments/measured/kineto_model.hpp"

#include <string>
#include <vector>

namespace stagecraft {

/// What the user of the model of traces should know, as lines that begin with `warning: ` or `note: `: that traces have
/// another batch or device than the choice, no backward, or no sizes.
/// **Requires** profiles of which `kineto_model` made one.
[[nodiscard]] std::vector<std::string> model_remarks(const std::vector<KinetoProfile>& profiles,
                                                     const KinetoModelChoice& choice);

}  // namespace stagecraft
