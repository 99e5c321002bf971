#pragma once

#include "experiments/measured/validation.hpp"

#include <string>
#include <vector>

namespace stagecraft::test {

/// The rows of docs/validation/NAME.csv that have one platform and one precision, with what errors are counted from.
struct ShownSite {
  std::string platform;
  std::string precision;
  Validation validation;
};
[[nodiscard]] std::vector<ShownSite> shown_sites(const std::string& name);

/// The errors of the predictions in docs/validation/NAME.csv, with a row for each site and what is compared; of `all` a
/// row for each site of all tables.
[[nodiscard]] std::string validation_table(const std::string& name);

/// `| step | reason |` of the rows that validation/NAME.csv leaves out.
[[nodiscard]] std::string left_out_table(const std::string& name);

/// One figure: `validation=NAME; show=FIGURE`, with `platform=` or `precision=` where a table has several sites. Of the
/// tables to whose steps constants were `fitted`, and of the others (`unfitted`), there are `steps`, `tables`,
/// `least_median` and `largest_median`; else `steps`, `signed_median`, `median`, `mean`, `worst`, `rank`, and `plain_`,
/// `memory_` or `fitted_memory_` before these errors.
/// **Throws** InputError for another figure, and where the keys choose no site or several.
[[nodiscard]] std::string validation_figure(const std::string& argument);

}  // namespace stagecraft::test
