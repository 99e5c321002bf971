#pragma once

#include "experiments/study/run_study.hpp"
#include "sim/base/quantity.hpp"
#include "sim/model/detail.hpp"

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

namespace stagecraft {

/// The result of a dry run.
struct DryRun {
  const Manifest& manifest;
  std::size_t repeated = 0;        ///< equal combinations left out
  std::vector<std::size_t> cells;  ///< cells that would be run
  int workers = 1;
  std::optional<Seconds> cell;  ///< estimated time of a cell; none if it was not measured
};

[[nodiscard]] std::string dry_run_text(const DryRun& run);
[[nodiscard]] Detail::Record dry_run_record(const DryRun& run);

/// How a run ended: the rows by status, the folder, and what to do next. `resuming` is the command that continues an
/// interrupted run.
[[nodiscard]] std::string study_run_text(const StudyRun& run, const RunChoices& choices, const std::string& resuming);
[[nodiscard]] Detail::Record study_run_record(const StudyRun& run, const RunChoices& choices);

}  // namespace stagecraft
