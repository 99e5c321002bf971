#pragma once

#include "sim/base/index.hpp"
#include "sim/base/quantity.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace stagecraft {

/// A stage of a plan that follows another.
struct FollowingStage {
  std::vector<LayerId> layers;
  std::vector<DeviceId> devices;
  std::int64_t recomputed = 0;  ///< number of layers
  std::int64_t swapped = 0;     ///< number of layers
  friend bool operator==(const FollowingStage&, const FollowingStage&) = default;
};

/// A question to a re-planner while training ran, and its answer; or, without a re-planner, how the plan is carried
/// over to another model.
struct ReplanQuestion {
  enum class Cause : std::uint8_t {
    Window,     ///< a window of microbatches had entered the pipeline
    Link,       ///< the bandwidth of a link had changed
    Memory,     ///< the memory of a device had changed
    Model,      ///< another model begins
    Failure,    ///< a device of the plan has failed, and the run does not wait for it
    Recovery,   ///< a device is up again
    Departure,  ///< it has been announced that a device leaves
  };
  Cause cause = Cause::Window;
  std::uint32_t microbatch = 0;  ///< the number of microbatches that had entered the pipeline
  Seconds at;
  // What an iteration, or a microbatch of an asynchronous run, takes on the platform as it was observed; none where the
  // re-planner does not say.
  std::optional<Seconds> keeping = std::nullopt;   ///< under the plan that ran
  std::optional<Seconds> changing = std::nullopt;  ///< under the other plan
  std::optional<Seconds> stall = std::nullopt;     ///< what the switch is expected to cost once
  std::string reason = {};                         ///< why the plan stayed or changed
  std::optional<std::uint32_t> first =
      std::nullopt;                         ///< the first microbatch of the other plan; none if the plan stayed
  std::vector<FollowingStage> stages = {};  ///< of the other plan
  bool live = false;                        ///< layers move while training goes on; else the pipeline drains
  // The stall is measured from the end of the microbatches before `stall_begin` to the end of those before `stall_end`.
  // Those from `stall_middle` on should come at the rate of the other plan, those before at that of the plan that ran.
  std::uint32_t stall_begin = 0;
  std::uint32_t stall_middle = 0;
  std::uint32_t stall_end = 0;
  std::uint32_t redone = 0;          ///< after a failure: microbatches that had entered the pipeline and are run again
  std::uint32_t model = 0;           ///< how many models have begun after the first one
  std::int64_t microbatch_size = 1;  ///< samples, of the other plan
  friend bool operator==(const ReplanQuestion&, const ReplanQuestion&) = default;
};
[[nodiscard]] const char* to_string(ReplanQuestion::Cause cause);

}  // namespace stagecraft
