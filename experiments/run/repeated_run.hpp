#pragma once

#include "experiments/run/traffic.hpp"
#include "sim/base/quantity.hpp"
#include "sim/model/platform.hpp"
#include "sim/model/report.hpp"
#include "sim/model/timeline.hpp"
#include "sim/schedule/convergence.hpp"
#include "sim/schedule/schedule_program.hpp"

#include <cstdint>
#include <functional>
#include <optional>
#include <utility>
#include <variant>

namespace stagecraft {

/// What one engine has found out about a run.
struct RunOutcome {
  Report report;
  Traffic traffic;
  RunRecord record;  ///< empty unless it is wanted
};

/// Two short runs that stand for a long one (docs/explanation/steady-state.md).
struct Repetition {
  std::int64_t shorter = 1;  ///< microbatches
  std::int64_t longer = 2;
  std::int64_t count = 1;  ///< the long run has so many times more microbatches than `shorter` as `longer` has
  Seconds from;            ///< when the longer one comes into the state that comes again
  Seconds period;          ///< after which it does
  /// Whether no two transfers have met on a link. Else dates are compared as SimGrid's clock knows them.
  bool is_exact = true;
  [[nodiscard]] std::int64_t microbatches() const { return longer - shorter; }  ///< of a period
};

/// Why all of a long run has been simulated.
enum class WholeBecause : std::uint8_t {
  Recorded,    ///< its record is wanted
  Changes,     ///< there are events, or the plan may change
  Iterations,  ///< there are several
  Orders,      ///< they are not known to repeat
  NoState,     ///< none has come again in an eighth of the run, or in four million operations
};

/// How a long run was simulated.
struct LongRun {
  std::variant<WholeBecause, Repetition> how = WholeBecause::NoState;
  /// Asked for: the largest difference between a figure of the whole run and what the two short ones have said, as a
  /// part of it; none if they have said nothing.
  std::optional<double> difference = std::nullopt;
  [[nodiscard]] const Repetition* repetition() const { return std::get_if<Repetition>(&how); }
  [[nodiscard]] std::optional<WholeBecause> why() const {
    const auto* because = std::get_if<WholeBecause>(&how);
    return because != nullptr ? std::optional(*because) : std::nullopt;
  }
};

/// Runs that are shorter are always simulated as they are.
inline constexpr std::int64_t kLeastLongRun = 1024;  ///< microbatches

/// Runs a plan for so many microbatches on one engine, and records it.
using ShortRun = std::function<RunOutcome(const RunLength& length)>;

/// What is known of a long run without contention.
struct EvaluatedRun {
  Repetition repetition;
  Timeline longer;  ///< of the longer one of the two runs
};

/// Finds out about a long run from two short ones (`RepeatedState`).
class RepeatedRun {
 public:
  /// `program`: of the long run. Both must outlive it.
  RepeatedRun(const Platform& platform, const ScheduleProgram& program) : platform_(platform), program_(program) {}

  /// The outcome of the long run, without its record; none if no run of an eighth of its length comes into one state
  /// twice. `evaluated`: the run without contention, if transfers share links.
  /// **Cost** that of runs of a few times the transient, together at most about half that of the long run.
  [[nodiscard]] std::optional<RunOutcome> find(const ShortRun& run, const EvaluatedRun* evaluated = nullptr);

  /// **Requires** that `find` has found something, as does what follows.
  [[nodiscard]] const Repetition& repetition() const { return repetition_; }
  /// The record of the longer one of the two runs.
  [[nodiscard]] Timeline take_longer() { return std::move(longer_.record.timeline); }

 private:
  [[nodiscard]] std::int64_t first_length() const;
  [[nodiscard]] std::int64_t unit_of(std::int64_t steps) const;
  void run_shorter(const ShortRun& run, std::int64_t length, std::int64_t steps);
  [[nodiscard]] std::optional<RunOutcome> attempt(const ShortRun& run, std::int64_t length, std::int64_t steps,
                                                  const EvaluatedRun* evaluated);
  [[nodiscard]] std::optional<RunOutcome> extended(const RunOutcome& shorter, const RunOutcome& longer,
                                                   std::int64_t count) const;

  const Platform& platform_;
  const ScheduleProgram& program_;
  Repetition repetition_;
  std::int64_t shorter_length_ = 0;
  RunOutcome shorter_;  ///< of that length
  RunOutcome longer_;   ///< of the last attempt
};

}  // namespace stagecraft
