#pragma once

#include "experiments/study/results.hpp"
#include "experiments/study_report/cell_counts.hpp"
#include "experiments/study_report/contenders.hpp"
#include "experiments/study_report/cross_table.hpp"
#include "experiments/study_report/mean_ratio.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace stagecraft {

/// A contender in one group, over all seeds. Figures are those of cells that are `ok`.
struct StudyLine {
  std::size_t contender = 0;
  CellCounts counts;
  bool is_best = false;  ///< no other whose cells are all `ok` has a higher throughput

  std::optional<MeanRatio> speed_up;  ///< ratio of throughputs to the baseline with the same seed
  std::optional<double> throughput;   ///< this and the next four: arithmetic means over the seeds
  std::optional<double> iteration_time_s;
  std::optional<double> period_s;
  std::optional<double> bubble_ratio;
  std::optional<double> prediction_error;
  std::optional<std::int64_t>
      peak_memory_bytes;  ///< this and the next two: largest over the seeds, whatever the status
  std::optional<std::int64_t> smallest_memory_bytes;
  std::optional<std::int64_t> overflow_bytes;
  std::optional<std::int64_t> largest_microbatch_size;  ///< smallest over the seeds
  std::vector<Detail>
      extra;             ///< the study's further columns: means of numbers, else what all seeds agree on, else null
  std::string schedule;  ///< of the plan; empty if it is not known or differs by seed
  std::string configuration;  ///< likewise
};

/// Cells that differ in who plans and in the seed only.
struct StudyGroup {
  Keys keys;  ///< those that differ in the study; null where a cell has none
  std::vector<StudyLine> lines;
};

/// A contender over all groups.
struct OverallLine {
  std::size_t contender = 0;
  CellCounts counts;
  std::size_t groups = 0;             ///< in which it takes part
  std::size_t groups_won = 0;         ///< in which it is the best or shares that place
  std::vector<double> speed_ups;      ///< one for each group in which it and the baseline ran
  std::optional<MeanRatio> speed_up;  ///< their geometric mean, without an interval: groups are no sample
};

/// Why cells gave no figures.
struct StudyReason {
  CellStatus status = CellStatus::Invalid;
  std::string message;
  std::size_t count = 0;
};

/// What a study's results say, in the order of its cells. Nothing depends on who ran them or how long that took.
struct StudySummary {
  std::string study;
  std::size_t cells = 0;
  std::size_t rows = 0;
  std::size_t seeds = 1;
  Keys constant;                       ///< the same in all cells
  std::vector<std::string> differing;  ///< keys that tell groups apart
  std::optional<Keys> baseline;
  std::vector<std::string> columns;  ///< the study's further columns
  CellCounts counts;
  std::vector<Contender> contenders;
  std::vector<OverallLine> overall;  ///< one for each contender
  std::vector<StudyGroup> groups;
  std::vector<CrossTable> tables;    ///< those that the study asks for
  std::vector<StudyReason> reasons;  ///< each message once, the most frequent first
  std::vector<std::string> notes;    ///< what is missing from the speed-ups, for people
};

/// A cell's baseline is the cell with the same seed that the study's pattern fits and whose keys are otherwise the
/// same, those that say who plans apart; where it fits several planners, the first of them.
/// **Cost** O(cells · keys · log cells).
[[nodiscard]] StudySummary summarise_study(const Results& results);

}  // namespace stagecraft
