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
  SpanLog(const Platform& platform, OperationStore& operations, Resources& resources, SpanSink sink);

  void start(std::uint64_t op) { started_.push_back({op, false, {}}); }
  /// The start at `position` of `started` is aborted.
  void abort(std::size_t position, Seconds at);
  /// Reports all spans at the front that have ended, and lets the store forget operations that are not needed any more.
  void flush();

  /// The starts that are not reported yet, ended or not, in their order.
  [[nodiscard]] const std::deque<Started>& started() const { return started_; }

 private:
  void report(const Started& started);

  const Platform& platform_;
  OperationStore& operations_;
  Resources& resources_;
  SpanSink sink_;
  std::deque<Started> started_;
};

}  // namespace stagecraft
