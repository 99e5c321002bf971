#pragma once

#include "planners/dawnpiper/interval.hpp"
#include "planners/shared/savings/exact_savings.hpp"
#include "planners/shared/savings/saving.hpp"
#include "planners/shared/savings/saving_pipeline.hpp"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <unordered_map>
#include <vector>

namespace stagecraft::dawnpiper {

/// A stage's place as the partition sees it.
struct PartitionPlace {
  double factor = 1.0;  ///< of times
  std::int64_t in_flight = 1;
  double copies = 1.0;  ///< of the parameters: weight versions, gradients and optimizer state
};

/// A list of units that is to be cut into stages. **Shape** sums have one entry for each cut, both ends included.
struct PartitionProblem {
  std::vector<PartitionPlace> places;  ///< of all stages
  std::vector<Seconds> compute;        ///< of the units before each cut: forwards and backwards, without factors
  std::vector<Bytes> stash;
  std::function<Bytes(std::size_t begin, std::size_t end)> parameters;  ///< of the units [begin, end)
  std::function<SavingStage(std::size_t stage, std::size_t begin, std::size_t end)> stage;
  /// The same stage with coarser units, of which runs may be segments, and what it saves, with the actions of the units
  /// of `stage`. Empty: there are none.
  std::function<SavingStage(std::size_t stage, std::size_t begin, std::size_t end)> coarse_stage = {};
  std::function<StageSaving(StageSaving coarse, std::size_t begin, std::size_t end)> refined = {};
  /// The time of what crosses a cut behind stage `before`, one way. Empty: cuts take no time.
  std::function<Seconds(std::size_t cut, std::size_t before)> transfer = {};
};

struct PartitionSettings {
  std::size_t margin = 1;  ///< cuts that are tried on either side of the theorem's interval
  bool exact = false;      ///< whether the actions of a stage are the best of all
  /// Whether a part is given up if its stages do not fit in runs of about equal stash, though other segments may.
  bool is_hasty = false;
  /// Units and cuts looked at, after which the search ends with what it has; twice as many if it has nothing.
  double max_work = 1e18;
};

/// Stages and what they save.
struct Partition {
  Seconds time;                      ///< of the slowest stage with its waits, or of the slowest cut
  std::vector<std::size_t> cuts;     ///< both ends included
  std::vector<StageSaving> savings;  ///< by stage
};

/// What a search has done.
struct PartitionCounts {
  std::int64_t leaf_calls = 0;  ///< stages whose actions were chosen
  std::int64_t cuts_tried = 0;
  std::int64_t widenings = 0;  ///< of intervals in which no cut fits
  double interval_cuts = 0;    ///< in the intervals of all parts, margins included
  double all_cuts = 0;         ///< of all parts
  double work = 0;             ///< units in the stages, and cuts of the parts looked at
  bool ended_early = false;
  std::int64_t inexact_leaves = 0;  ///< stages whose exact search was given up
};

/// Binary pipeline partitioning. The stages are split into two halves, and the units between them at each cut of the
/// theorem's interval, from the cut where the halves' computation is most even towards the one where their memory is;
/// each half is then partitioned in the same way. The search in an interval ends where computation alone takes no less
/// than the best plan found. If no cut of an interval fits, two more on either side are tried, and so on; likewise
/// as many as the margin has, if the best cut is in the margin.
///
/// A stage waits for what crosses its cuts if its neighbour has only one microbatch more or less in flight: it takes
/// its time and that of both transfers. With that in every stage, no loop of the pipeline takes longer than the slowest
/// stage (`loop_time`), and where all stages are equal some loop takes nearly as long. Elsewhere transfers are hidden,
/// and a cut takes at least the time of its own.
///
/// A half's memory is that of its units with its mean number of microbatches in flight and its mean number of copies of
/// the parameters, divided by its stages. So for two stages the interval is that of the theorem, and for more it is a
/// heuristic. A part (stages and units) is solved once. It is given the time of the best plan so far and is left as
/// soon as it cannot beat that. A part is given up at once if its stages cannot hold its units even if each takes as
/// many as it can. That supposes that a stage which begins later or ends earlier needs no more memory. In a graph whose
/// blocks are cut it may need more, since it keeps what it receives; then a part may be given up although it fits.
/// **Cost** O(l · w^(log2 l)) stages for intervals of w cuts at worst; `max_work` ends it.
/// **Source** DawnPiper (Peng et al. 2025); details are our reconstruction.
class PartitionSearch {
 public:
  PartitionSearch(PartitionProblem problem, const PartitionSettings& settings);

  /// Stages [first, last] of the units [begin, end); none if nothing that was tried fits.
  /// **Requires** at least as many units as stages.
  [[nodiscard]] std::optional<Partition> run(std::size_t first, std::size_t last, std::size_t begin, std::size_t end);
  /// All stages of all units.
  [[nodiscard]] std::optional<Partition> run() { return run(0, problem_.places.size() - 1, 0, units()); }
  [[nodiscard]] const PartitionCounts& counts() const { return counts_; }

 private:
  struct Part {
    std::size_t first = 0;
    std::size_t last = 0;
    std::size_t begin = 0;
    std::size_t end = 0;
    friend bool operator==(const Part&, const Part&) = default;
    [[nodiscard]] std::size_t stages() const { return last - first + 1; }
    [[nodiscard]] std::size_t middle() const { return (first + last) / 2; }
    /// The parts on either side of a cut.
    [[nodiscard]] Part before(std::size_t cut) const { return {first, middle(), begin, cut}; }
    [[nodiscard]] Part behind(std::size_t cut) const { return {middle() + 1, last, cut, end}; }
  };
  struct PartHash {
    std::size_t operator()(const Part& part) const;
  };
  /// What is known of a part: its time, or that it takes at least `time`. An infinite time is that of a part that does
  /// not fit.
  struct Known {
    Seconds time;
    bool is_exact = false;
    std::size_t cut = 0;
  };
  enum class Result : std::uint8_t { Faster, NotFaster, DoesNotFit };
  /// The cuts of a part.
  struct Cuts {
    std::size_t first = 0;       ///< the cut with position 0
    std::vector<double> bounds;  ///< by position: no plan with that cut takes less
    Interval interval;
  };
  struct Best {
    Seconds time;  ///< to be beaten
    std::size_t cut = 0;
    bool is_found = false;
  };

  [[nodiscard]] std::size_t units() const { return problem_.compute.size() - 1; }
  [[nodiscard]] bool is_over(const Best& best) const;
  Result solve(const Part& part, Seconds limit);
  Result solve_stage(const Part& part, Seconds limit, Known& known);
  Result solve_cuts(const Part& part, Seconds limit, Known& known, bool is_new);
  [[nodiscard]] bool lies_in_margin(std::size_t position, const Interval& interval, std::size_t count) const;
  [[nodiscard]] static std::vector<std::size_t> by_bound(const Cuts& cuts, const Interval& interval,
                                                         const std::optional<Interval>& tried);
  bool try_cuts(const Part& part, const Cuts& cuts, const std::vector<std::size_t>& positions, Best& best);
  Result try_cut(const Part& part, std::size_t cut, Best& best);
  [[nodiscard]] Cuts cuts_of(const Part& part) const;
  [[nodiscard]] Seconds transfer(std::size_t cut, std::size_t before) const;
  [[nodiscard]] Seconds wait(std::size_t cut, std::size_t before) const;
  [[nodiscard]] Seconds waits(const Part& part) const;
  [[nodiscard]] double even_time(const Part& part, Seconds waited) const;
  [[nodiscard]] double even_memory(const Part& part) const;
  [[nodiscard]] ExactSavings choose(const Part& part);
  [[nodiscard]] ExactSavings choose_for(const SavingStage& stage);
  [[nodiscard]] bool may_fit(const Part& part);
  [[nodiscard]] std::size_t reach(std::size_t stage, std::size_t begin);
  [[nodiscard]] bool may_hold(std::size_t stage, std::size_t begin, std::size_t end);
  void collect(const Part& part, Partition& result);

  PartitionProblem problem_;
  PartitionSettings settings_;
  PartitionCounts counts_;
  std::vector<double> speeds_;  // sums over the stages before
  std::vector<std::int64_t> in_flight_;
  std::vector<double> copies_;
  std::unordered_map<Part, Known, PartHash> known_;
  std::vector<std::map<std::size_t, std::size_t>> reach_;  ///< by stage and begin
};

}  // namespace stagecraft::dawnpiper
