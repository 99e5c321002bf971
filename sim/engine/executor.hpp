#pragma once

#include "sim/engine/clock.hpp"
#include "sim/engine/ring.hpp"
#include "sim/model/events.hpp"
#include "sim/model/op_graph.hpp"
#include "sim/model/platform.hpp"
#include "sim/model/timeline.hpp"

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <queue>
#include <unordered_map>
#include <vector>

namespace stagecraft {

/// Runs the windows of an operation graph on a clock: what may start when, under dependencies, lanes, exclusive links,
/// not-before times, and events. Both engines are this executor over a different clock, so they differ in nothing but
/// how transfers share links.
///
/// All completions of one instant are reported before `dispatch` starts what they set free, so that at each instant
/// everything that wants a lane or link is known and the least (priority, time it became ready, id) gets it. What ends
/// at the instant of an event has ended before the event, and what starts then starts after it.
class Executor {
 public:
  /// `platform` must outlive the executor.
  Executor(const Platform& platform, OpSource source, const Events& events, SpanSink sink, Clock& clock);

  /// Pulls the first windows and starts what can start.
  void begin();
  void complete(Start done);
  void wake(std::uint64_t token);
  /// Starts what the completions and wakes since the last call have made possible; pulls windows as devices run dry.
  void dispatch();

  /// At one instant several operations may compete, so the order of completions within it must not matter: `dispatch`
  /// has to be put off until all of them are in.
  [[nodiscard]] bool is_contested() const { return contested_run_; }
  [[nodiscard]] bool is_finished() const { return exhausted_ && unfinished_ == 0; }
  [[nodiscard]] std::uint64_t unfinished() const { return unfinished_; }

 private:
  enum class State : std::uint8_t { Waiting, Ready, Running, Done };

  struct Slot {
    Op op;
    State state = State::Waiting;
    bool reported = false;         ///< its span has been handed to the sink
    bool simple = true;            ///< at most one lane, and no exclusive link
    OpKind cause = OpKind::Setup;  ///< of the dependency that ended last, with its number, start and end
    std::uint32_t missing = 0;     ///< dependencies that have not ended
    std::uint32_t generation = 0;
    std::uint32_t edges = 0;       ///< to the dependencies it waited for when it was loaded
    std::uint64_t successors = 0;  ///< head of a list of edges; 0 ends it
    std::uint64_t delta_end = 0;
    Seconds ready_at;
    Seconds start;
    Seconds end;
    std::uint64_t cause_op = 0;
    Seconds cause_start;
    Seconds cause_end;
  };
  /// What is left of a running computation, where speeds change.
  struct Work {
    Seconds left;  ///< at nominal speed, at `at`
    Seconds at;
    double slowdown = 1.0;  ///< from `at` on
  };
  struct Edge {
    std::uint64_t successor = 0;
    std::uint64_t next = 0;
  };
  struct Key {
    std::int32_t priority = 0;
    Seconds ready_at;
    std::uint64_t op = 0;
    friend auto operator<=>(const Key&, const Key&) = default;
  };
  using Waiters = std::priority_queue<Key, std::vector<Key>, std::greater<>>;
  struct Resource {
    Discipline discipline = Discipline::Ready;
    DeviceId device;  ///< of a compute lane
    bool busy = false;
    bool down = false;
    bool closed = false;              ///< no later window adds to it
    std::uint64_t unstarted = 0;      ///< operations appended and not started
    std::deque<std::uint64_t> queue;  ///< strict: in order
    Waiters waiters;                  ///< ready: those found to be held up by this resource
    [[nodiscard]] bool is_free() const { return !busy && !down; }
    /// Whether the executor must look ahead for it: a device's lane that is not closed.
    [[nodiscard]] bool is_open() const { return !device.is_none() && !closed; }
  };
  struct Wake {
    enum class Kind : std::uint8_t { Fire, NotBefore, Recover } kind = Kind::Fire;
    std::uint64_t what = 0;  ///< event, operation or device
  };
  struct Started {
    std::uint64_t op = 0;
    bool aborted = false;
    Span span;  ///< of an aborted start
  };

  // Windows (executor_windows.cpp).
  void pull_while_starved();
  void load(const OpGraph& graph);
  void load_op(const OpGraph& graph, std::size_t index);
  void join_lane(LaneId lane, std::uint64_t op);
  void close(Resource& lane);
  static void note_cause(Slot& successor, const Slot& ended, std::uint64_t op);
  [[nodiscard]] bool find_exclusive_links(std::uint64_t op);

  // Starting and ending.
  void consider_ready();
  void consider(std::uint64_t op);
  void try_contested(std::uint64_t op);
  void collect_resources(std::uint64_t op);
  void offer(Resource& resource);
  void start(std::uint64_t op);
  void take(Resource& resource);
  void release(Resource& resource);
  void run(std::uint64_t op, Slot& slot);
  void flush();
  void report(const Started& started);
  [[nodiscard]] bool is_waiting(std::uint64_t op) const;
  [[nodiscard]] Span span_of(std::uint64_t op, Seconds end, bool aborted) const;
  void notice_start(const Slot& slot);
  void notice_end(const Slot& slot);

  // Events (executor_events.cpp).
  void wake_later(Wake wake, Seconds at);
  void wake_up();
  void schedule_events();
  void fire(const Event& event);
  void apply(const Slowdown& change);
  void apply(const BandwidthChange& change);
  void apply(const Failure& change);
  void apply(const Jitter& change);
  void abort(std::uint64_t op);
  void recover(DeviceId device);
  [[nodiscard]] bool is_held_by_failure(std::uint64_t op);
  [[nodiscard]] bool involves(std::uint64_t op, DeviceId device) const;
  [[nodiscard]] double slowdown_of(std::uint64_t op) const;
  [[nodiscard]] Seconds nominal_time(const Op& op) const;

  const Platform& platform_;
  OpSource source_;
  Events events_;
  SpanSink sink_;
  Clock& clock_;

  Ring<Slot> slots_;
  Ring<Edge> edges_;
  Ring<MemoryDelta> deltas_;
  std::deque<Resource> lanes_;                                          ///< by LaneId
  std::unordered_map<std::uint64_t, std::vector<LaneId>> extra_lanes_;  ///< of unfinished operations that have some
  std::vector<Resource> links_;                                         ///< by LinkId, if any is exclusive
  std::unordered_map<std::uint64_t, std::vector<LinkId>> exclusive_;    ///< of unfinished transfers that need some
  bool has_exclusive_links_ = false;
  bool contested_run_ = false;

  std::vector<std::uint64_t> ready_;        ///< have become ready
  std::vector<std::uint64_t> ready_again_;  ///< after an abort
  std::vector<Resource*> freed_;
  Waiters contested_;
  std::vector<Resource*> scratch_;
  Route route_;
  std::vector<MemoryDelta> report_;

  std::deque<Started> started_;  ///< in order of start, until reported
  std::uint64_t unfinished_ = 0;
  std::uint64_t open_lanes_ = 0;     ///< device lanes that later windows may add to
  std::uint64_t starved_lanes_ = 0;  ///< of these, those without an unstarted operation
  bool exhausted_ = false;

  bool speeds_change_ = false;
  std::unordered_map<std::uint64_t, Work> works_;  ///< of running computations, if speeds change
  std::vector<double> slowdown_;                   ///< by DeviceId
  std::optional<Jitter> jitter_;
  std::vector<std::vector<std::uint64_t>> held_;                 ///< by DeviceId: transfers that wait for its recovery
  std::vector<std::uint32_t> failures_;                          ///< by DeviceId: those that last
  std::size_t failures_now_ = 0;                                 ///< over all devices
  std::unordered_map<std::uint64_t, Wake> wakes_;                ///< by token
  std::vector<std::uint64_t> woken_;                             ///< tokens
  std::multimap<std::uint32_t, std::size_t> microbatch_events_;  ///< by microbatch: events that have not struck
  std::uint64_t next_token_ = 0;
  Observation observation_;
};

}  // namespace stagecraft
