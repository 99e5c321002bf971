#include "sim/replay/replay.hpp"

#include "sim/base/child_process.hpp"
#include "sim/base/error.hpp"
#include "sim/engine/run_recorder.hpp"
#include "sim/engine/summary.hpp"
#include "sim/replay/records.hpp"
#include "sim/replay/simgrid_network.hpp"

#include <chrono>
#include <csignal>
#include <cstring>
#include <optional>
#include <string>
#include <utility>

namespace stagecraft {
namespace {

constexpr std::size_t kChunkEntries = 4096;
constexpr std::uint64_t kSpansBetweenLooks = 4096;  // between two looks at the wall clock
constexpr std::chrono::milliseconds kProgressInterval(100);
constexpr std::uint64_t kMostTried = 20'000;  // spans of a run that may need SimGrid yet: some 20 ms

/// The child's side: folds the spans into a report, and sends it with the record of the run and the progress if they
/// are wanted.
class Reporter {
 public:
  Reporter(const Platform& platform, const ReplayOptions& options, FrameSender& sender)
      : summary_(platform, options.measurement, true),
        recorder_(platform, chunk_, options.record),
        wants_progress_(options.progress != nullptr),
        sender_(sender) {}

  /// The source, whose windows the reporter learns of.
  [[nodiscard]] OpSource announced(OpSource source) {
    source = announced_to(summary_, std::move(source));
    return announced_to([this](const OpGraph& window) { recorder_.add(window); }, std::move(source));
  }
  [[nodiscard]] Summary& summary() { return summary_; }
  void add(const Span& span, const Op& op, std::span<const MemoryDelta> deltas) {
    summary_.add(span, op, deltas);
    recorder_.add(span, op, deltas);
    if (chunk_.timeline.size() == kChunkEntries) send_chunk();
    if (!span.aborted && std::exchange(last_, span.id) != span.id) ++operations_;  // one span for each of its devices
    if (++spans_ % kSpansBetweenLooks == 0 && wants_progress_) send_progress(span.start);
  }

  void finish() {
    recorder_.finish();
    send_chunk();
    send(RecordKind::Report, encode(summary_.finish()));
  }

 private:
  void send(RecordKind kind, const std::string& bytes) { sender_.send(static_cast<std::uint32_t>(kind), bytes); }
  void send_chunk() {
    send(RecordKind::RecordChunk, encode(chunk_));
    chunk_ = {};
  }
  void send_progress(Seconds now) {
    const auto wall = std::chrono::steady_clock::now();
    if (wall - last_progress_ < kProgressInterval) return;
    last_progress_ = wall;
    send(RecordKind::Progress, encode(ReplayProgress{now, operations_}));
  }

  RunRecord chunk_;
  Summary summary_;
  RunRecorder recorder_;  ///< into the chunk
  bool wants_progress_;
  FrameSender& sender_;
  std::uint64_t spans_ = 0;
  std::uint64_t operations_ = 0;
  OpId last_;
  std::chrono::steady_clock::time_point last_progress_ = std::chrono::steady_clock::now();
};

void run_in_child(const Platform& platform, const std::function<OpSource()>& make_source, const Events& events,
                  const ReplayOptions& options, FrameSender& sender) {
  try {
    Reporter reporter(platform, options, sender);
    RunSink sink = summed_up_by(reporter.summary());
    sink.span = [&](const Span& span, const Op& op, std::span<const MemoryDelta> deltas) {
      reporter.add(span, op, deltas);
    };
    replay_here(platform, reporter.announced(make_source()), events, sink);
    reporter.finish();
  } catch (const std::exception& error) {
    sender.send(static_cast<std::uint32_t>(RecordKind::Failure), encode(failure_record(error)));
  }
}

/// Throws the error for a child that has ended without a report.
[[noreturn]] void fail(const ChildEnd& end) {
  if (end.signal == SIGINT) throw Error(ExitCode::Interrupted, "interrupted");
  std::string message = "the replay process died";
  if (end.signal != 0) message += " of signal " + std::to_string(end.signal) + " (" + strsignal(end.signal) + ")";
  if (end.signal == 0) message += " with exit code " + std::to_string(end.exit_code);
  if (!end.errors.empty()) message += "; it wrote: " + end.errors;
  throw InternalError(message);
}

ReplayOutcome replay_in_place(const Platform& platform, OpSource source, const Events& events,
                              const ReplayOptions& options, bool may_start) {
  ReplayOutcome outcome;
  Summary summary(platform, options.measurement, true);
  RunSink sink = summed_up_by(summary);
  outcome.record.timeline.reserve(options.spans);
  RunRecorder recorder(platform, outcome.record, options.record);
  std::uint64_t spans = 0;
  sink.span = [&](const Span& span, const Op& op, std::span<const MemoryDelta> deltas) {
    if (!may_start && ++spans > kMostTried) throw EngineNeeded();
    summary.add(span, op, deltas);
    recorder.add(span, op, deltas);
  };
  const auto hear = [&](const OpGraph& window) { recorder.add(window); };
  source = announced_to(hear, announced_to(summary, std::move(source)));
  replay_here(platform, std::move(source), events, sink, may_start);
  recorder.finish();
  outcome.report = summary.finish();
  return outcome;
}

}  // namespace

ReplayOutcome replay(const Platform& platform, const std::function<OpSource()>& make_source, const Events& events,
                     const ReplayOptions& options) {
  if (options.in_place) return replay_in_place(platform, make_source(), events, options, true);
  ChildProcess child([&](FrameSender& sender) { run_in_child(platform, make_source, events, options, sender); });
  ReplayOutcome outcome;
  outcome.record.timeline.reserve(options.spans);
  bool is_complete = false;
  while (const std::optional<Frame> frame = child.receive()) {
    switch (static_cast<RecordKind>(frame->kind)) {
      case RecordKind::Progress: options.progress(decode_progress(frame->bytes)); break;
      case RecordKind::RecordChunk: decode_record(frame->bytes, outcome.record); break;
      case RecordKind::Report:
        outcome.report = decode_report(frame->bytes);
        is_complete = true;
        break;
      case RecordKind::Failure: throw_again(decode_failure(frame->bytes));
    }
  }
  const ChildEnd end = child.wait();
  if (!is_complete) fail(end);
  return outcome;
}

std::optional<ReplayOutcome> replay_without_engine(const Platform& platform, OpSource source, const Events& events,
                                                   const ReplayOptions& options) {
  try {
    return replay_in_place(platform, std::move(source), events, options, false);
  } catch (const EngineNeeded&) {
    return std::nullopt;
  }
}

}  // namespace stagecraft
