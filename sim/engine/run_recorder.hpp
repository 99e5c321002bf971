#pragma once

#include "sim/engine/memory_fold.hpp"
#include "sim/model/op_graph.hpp"
#include "sim/model/platform.hpp"
#include "sim/model/timeline.hpp"

#include <cstdint>
#include <functional>
#include <map>
#include <span>

namespace stagecraft {

/// What of a run is recorded.
enum class RecordPart : std::uint8_t { None, Spans, All };

/// Collects the record of a run.
class RunRecorder {
 public:
  /// Appends to `record`, which must outlive the recorder.
  RunRecorder(const Platform& platform, RunRecord& record, RecordPart what = RecordPart::All)
      : record_(record), what_(what), memory_(platform, &record.memory) {}

  /// **Requires** every window of the run, before its spans.
  void add(const OpGraph& window);
  /// **Requires** the order in which engines report spans.
  void add(const Span& span, const Op& op, std::span<const MemoryDelta> deltas);
  /// The run ends.
  void finish() { memory_.finish(); }

 private:
  RunRecord& record_;
  RecordPart what_;
  MemoryFold memory_;
  std::map<LaneId, OpId> last_on_lane_;  ///< of those that have started since the last plan was given up
};

/// The source, which shows `hear` each of its windows.
[[nodiscard]] OpSource announced_to(std::function<void(const OpGraph&)> hear, OpSource source);

}  // namespace stagecraft
