#pragma once

#include "experiments/study/results.hpp"
#include "experiments/study_report/cell_counts.hpp"
#include "experiments/study_report/claims.hpp"
#include "experiments/study_report/contenders.hpp"
#include "experiments/study_report/cross_table.hpp"
#include "experiments/study_report/mean_ratio.hpp"
#include "experiments/view/basis_words.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace stagecraft {

/// What a sample takes, as arithmetic means over the seeds.
struct SampleTimes {
  std::optional<double> simulated_s;
  std::optional<double> predicted_s;
  std::optional<double> prediction_error;
};

/// A contender in one group, over all seeds. Unless noted otherwise, figures are taken from cells that are `ok`.
struct StudyLine {
  std::size_t contender = 0;
  CellCounts counts;
  bool is_best = false;  ///< all its cells are `ok`, and no other such line of the group has a higher throughput

  std::optional<MeanRatio> speed_up;  ///< ratio of throughputs to the baseline with the same seed
  std::optional<double> throughput;   ///< this and the next five: arithmetic means over the seeds
  std::optional<double> iteration_time_s;
  std::optional<double> period_s;
  std::optional<double> bubble_ratio;
  SampleTimes sample;
  std::optional<double> over_bound;
  std::optional<std::int64_t>
      peak_memory_bytes;  ///< this and the next three: largest over the seeds, whatever the status
  std::optional<std::int64_t> samples_per_update;
  std::optional<std::int64_t> gradient_bucket_bytes;
  std::optional<std::int64_t> smallest_memory_bytes;
  std::optional<std::int64_t> overflow_bytes;
  std::optional<std::int64_t> largest_microbatch_size;  ///< smallest over the seeds
  Basis rests_on;                                       ///< mean over the seeds; empty if it is not known
  std::vector<Detail> extra;  ///< the study's further columns: the value of all seeds, or else the mean, or else null
  std::string schedule;       ///< of the plan; empty if it is not known or differs by seed
  std::string configuration;  ///< likewise
};

/// Cells that differ only in contender and seed.
struct StudyGroup {
  Keys keys;  ///< those that differ between groups; null if a cell has no such key
  std::vector<StudyLine> lines;
};

/// Whether two lines of the group sum up different numbers of samples in an update.
[[nodiscard]] bool updates_differ(const StudyGroup& group);

/// A contender over all groups.
struct OverallLine {
  std::size_t contender = 0;
  CellCounts counts;
  std::size_t groups = 0;             ///< in which it takes part
  std::size_t groups_won = 0;         ///< in which it is the best or shares that place
  std::vector<double> speed_ups;      ///< one for each group in which it and the baseline ran
  std::optional<MeanRatio> speed_up;  ///< their geometric mean, without an interval, because groups are not a sample
  Basis rests_on;                     ///< mean over the groups in which it is known
  Claims claims;
};

/// A reason why cells have no figures.
struct StudyReason {
  CellStatus status = CellStatus::Invalid;
  std::string message;
  std::size_t count = 0;
};

/// The summary of a study's results, in the order of its cells. It does not depend on how the cells were run or on
/// timings.
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
  std::vector<std::string> notes;    ///< sentences about missing or ambiguous speed-ups
  BasisRanges rests_on;              ///< over all runs
};

/// Summarises a study. A cell's baseline is its partner for the study's baseline pattern (`pair_cells` with
/// `any_planner`).
/// **Cost** O(cells · keys · log cells).
[[nodiscard]] StudySummary summarise_study(const Results& results);

}  // namespace stagecraft
