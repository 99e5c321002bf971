#pragma once

#include "sim/engine/operation_store.hpp"
#include "sim/engine/resources.hpp"
#include "sim/model/platform.hpp"
#include "sim/model/timeline.hpp"

#include <cstdint>
#include <deque>

namespace stagecraft {

/// Merges the spans of all operations into one timeline, in the order of the starts. Operations end in another order
/// than they start, so a span that has ended is kept until all spans that started before it have ended too.
class SpanLog {
 public:
  /// One start.
  struct Started {
    std::uint64_t op = 0;
    bool aborted = false;
    Span span;  ///< of an aborted start
  };

  /// All but the sink must outlive the log.
  SpanLog(const Platform& platform, OperationStore& operations, Resources& resources, RunSink sink);

  void start(std::uint64_t op) { started_.push_back({op, false, {}}); }
  /// The event happens, after the starts so far. It must outlive the log.
  void strike(std::uint32_t position, const Event& event, Seconds at);
  /// The start at `position` of `started` is aborted.
  void abort(std::size_t position, Seconds at);
  /// Reports all spans at the front that have ended, and lets the store forget operations that are not needed any more.
  void flush();

  /// The starts that are not reported yet, ended or not, in their order.
  [[nodiscard]] const std::deque<Started>& started() const { return started_; }

 private:
  /// An event between two starts.
  struct Struck {
    Strike strike;
    const Event* event = nullptr;
    std::uint64_t starts = 0;  ///< before it
  };
  void report(const Started& started);
  void report_strikes();

  const Platform& platform_;
  OperationStore& operations_;
  Resources& resources_;
  RunSink sink_;
  std::deque<Started> started_;
  std::uint64_t reported_ = 0;  ///< number of starts
  std::deque<Struck> struck_;   ///< not reported yet
};

}  // namespace stagecraft
