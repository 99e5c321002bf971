#pragma once

#include "experiments/measured/validation.hpp"
#include "experiments/view/description.hpp"

#include <string>
#include <vector>

namespace stagecraft {

/// The errors of each site, of a single one its steps too, and the rows that were left out, as text; the same with the
/// steps of all sites as JSON. **Requires** a site.
[[nodiscard]] Description describe_validations(const std::vector<Validation>& validations,
                                               const std::vector<LeftOutStep>& left_out);

/// A row for each step, with a header: `table,platform,precision,name,run,measured_s,predicted_s,plain_s,
/// measured_memory_bytes,predicted_memory_bytes`. Times have six digits; sizes that there are not are empty.
[[nodiscard]] std::string validation_csv(const std::vector<Validation>& validations);

/// Predicted against measured times, and beside them those of the plain formula, as an SVG image with logarithmic axes.
/// The grey line is where both are equal, the broken ones a tenth above and below. **Requires** a site.
[[nodiscard]] std::string validation_picture(const std::vector<Validation>& validations);

}  // namespace stagecraft
