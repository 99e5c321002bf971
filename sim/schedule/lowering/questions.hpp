#pragma once

#include "sim/model/observation.hpp"
#include "sim/model/replan_question.hpp"
#include "sim/schedule/lower.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace stagecraft {

/// Asks the re-planner of a run, if it has one, and keeps what was asked and answered.
class Questions {
 public:
  explicit Questions(const std::optional<Replanning>& replanning);

  [[nodiscard]] bool may_come() const { return replanner_ != nullptr; }
  /// Takes the measurements since the last call.
  void observe(const Observation& further) { seen_.add(further); }
  [[nodiscard]] const Observation& seen() const { return seen_; }
  /// Whether a window of microbatches has entered the pipeline, a link's bandwidth or a device's memory has changed, a
  /// device that was left is up again, or it has been announced that one leaves.
  [[nodiscard]] bool is_due() const {
    return ends_window() || seen_.links != known_links_ || seen_.memories != known_memories_ || has_recovered() ||
           seen_.leaving != known_leaving_;
  }
  /// Whether a device among those of `used` has been down for that time, and the question has not been asked.
  [[nodiscard]] bool lacks(const std::vector<DeviceId>& used, Seconds patience) const;
  /// When `lacks` may become true, if the devices stay down.
  [[nodiscard]] std::optional<Seconds> lacks_from(const std::vector<DeviceId>& used, Seconds patience) const;
  /// **Requires** that the replanner's answer is as it has to be.
  [[nodiscard]] std::optional<PlanSwitch> ask(RunPosition position);
  /// Asks for a plan with which the run goes on without devices that are down, when so many models have begun.
  [[nodiscard]] std::optional<PlanSwitch> ask_without(const RunPosition& position, std::size_t models);
  /// The run waits for devices that are down.
  void note_waiting(const std::string& why);
  /// The plan of the last answer follows without a drain, from microbatch `first` on. `stall`: the microbatches of
  /// `ReplanQuestion::stall_begin`, `stall_middle` and `stall_end`.
  void note_live(std::int64_t first, const std::array<std::int64_t, 3>& stall);
  /// Adds to the reason of the last answer.
  void explain(const std::string& why);
  /// Another model, the `model`-th after the first, begins with microbatch `position.earliest`; `what` says so. Returns
  /// the answer, or `position.plan`, which is the present plan carried over to it.
  [[nodiscard]] PlanSwitch change_model(RunPosition position, std::size_t model, const std::string& what);
  /// Another plan begins with that microbatch, and so does its window.
  void begin_plan(std::int64_t microbatch);
  /// The questions since the last call.
  [[nodiscard]] std::vector<ReplanQuestion> take();

 private:
  [[nodiscard]] ReplanQuestion::Cause cause() const;
  void note(ReplanQuestion::Cause cause, const ReplanAnswer& answer);
  [[nodiscard]] bool ends_window() const { return seen_.microbatches_injected >= next_; }
  [[nodiscard]] bool is_down(DeviceId device) const;
  [[nodiscard]] bool has_recovered() const;

  Replanner replanner_;
  std::int64_t window_ = 0;
  std::int64_t next_ = 0;                          ///< the microbatches with which the present window ends
  Observation seen_;                               ///< in the present window
  std::vector<LinkObservation> known_links_;       ///< at the last question
  std::vector<MemoryObservation> known_memories_;  ///< likewise
  std::vector<LeavingObservation> known_leaving_;  ///< likewise
  std::vector<DownObservation> known_down_;        ///< at the last question because of a failure
  std::vector<DeviceId> left_;                     ///< devices that were down when the run went on without some of them
  std::uint32_t model_ = 0;
  std::vector<ReplanQuestion> asked_;
};

}  // namespace stagecraft
