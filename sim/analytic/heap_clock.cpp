#include "sim/analytic/heap_clock.hpp"

#include "sim/analytic/transfer_cost.hpp"
#include "sim/base/error.hpp"
#include "sim/engine/executor.hpp"
#include "sim/model/bandwidths.hpp"
#include "sim/model/timeline.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <queue>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace stagecraft {
namespace {

/// A clock on which transfers are timers. If links change during the run, it keeps the transfers under way with their
/// remaining bytes.
class HeapClock final : public Clock {
 public:
  HeapClock(const Platform& platform, bool links_change)
      : platform_(platform), cost_(platform), links_change_(links_change) {
    for (const Link& link : platform.links) bandwidths_.push_back(link.bandwidth);
  }

  [[nodiscard]] Seconds now() const override { return now_; }
  void complete_at(Start start, Seconds at) override { push({at, next_++, Kind::Complete, start, 0}); }
  void wake_at(std::uint64_t token, Seconds at) override { push({std::max(at, now_), next_++, Kind::Wake, {}, token}); }

  void start_transfer(Start start, const Op& op, Seconds waited) override {
    if (!links_change_) {
      complete_at(start, now_ + cost_(op, waited));
      return;
    }
    Flow flow;
    STAGECRAFT_CHECK(find_route(platform_, op.from, op.to, op.leg, flow.route), "a transfer's places are connected");
    flow.start = start;
    flow.left = bytes_alone(op, flow.route);
    flow.since = now_ + latency_left(flow.route.latency, waited);
    if (is_stopped(flow.route)) flow.stopped_at = now_;
    plan(flow);
    flows_[start.op.value()] = std::move(flow);
  }

  void abort_transfer(Start start) override { flows_.erase(start.op.value()); }

  void set_bandwidth(LinkId link, BytesPerSecond bandwidth) override {
    bandwidths_[link.value()] = bandwidth;
    for (Flow* flow : flows_over(link)) {
      advance(*flow);
      plan(*flow);
    }
  }

  void set_down(LinkId link, bool is_down) override {
    if (is_down) {
      down_.insert(link);
    } else {
      down_.erase(link);
    }
    for (Flow* flow : flows_over(link)) {
      if (is_stopped(flow->route) == flow->stopped_at.has_value()) continue;
      if (flow->stopped_at) {
        flow->since += now_ - *flow->stopped_at;
        flow->stopped_at.reset();
      } else {
        advance(*flow);
        flow->stopped_at = now_;
      }
      plan(*flow);
    }
  }

  /// Runs until nothing is left to happen. Where operations compete, dates that differ by rounding are one instant: all
  /// that happens at them has happened before the next operation is chosen.
  void run(Executor& executor) {
    executor.begin();
    while (!heap_.empty()) {
      const Seconds first = heap_.top().at;
      const Seconds last = executor.has_competition() ? first + date_noise(first) : first;
      while (!heap_.empty() && heap_.top().at <= last) {
        const Instant instant = heap_.top();
        now_ = instant.at;
        heap_.pop();
        happen(instant, executor);
      }
      executor.dispatch();
    }
  }

 private:
  /// The bytes that take as long on links without other flows as the transfer takes (`Op::seconds`).
  [[nodiscard]] double bytes_alone(const Op& op, const Route& route) const {
    const double bytes = static_cast<double>(op.bytes.value());
    const std::optional<BytesPerSecond> narrowest = narrowest_bandwidth(platform_, route);
    return narrowest ? std::max(bytes, (op.seconds - route.latency).value() * narrowest->value()) : bytes;
  }

  enum class Kind : std::uint8_t { Complete, Wake, EndOfFlow };
  struct Instant {
    Seconds at;
    std::uint64_t order = 0;
    Kind kind = Kind::Complete;
    Start start;
    std::uint64_t token = 0;
    friend bool operator>(const Instant& a, const Instant& b) { return a.at != b.at ? a.at > b.at : a.order > b.order; }
  };
  struct Flow {
    Route route;
    Start start;
    double left = 0.0;  ///< bytes at `since`
    double rate = 0.0;  ///< bytes per second from `since` on
    Seconds since;
    std::optional<Seconds> stopped_at;  ///< if a link of its route is down: since when
    std::uint64_t plan = 0;             ///< token of its valid end; ends with other tokens are stale
  };

  [[nodiscard]] bool is_stopped(const Route& route) const {
    return !down_.empty() && std::ranges::any_of(route.links, [&](LinkId link) { return down_.contains(link); });
  }

  [[nodiscard]] std::vector<Flow*> flows_over(LinkId link) {
    std::vector<Flow*> flows;
    for (auto& [op, flow] : flows_) {
      if (std::ranges::find(flow.route.links, link) != flow.route.links.end()) flows.push_back(&flow);
    }
    return flows;
  }

  /// Counts what the flow has sent until now.
  void advance(Flow& flow) const {
    if (flow.stopped_at || now_ <= flow.since) return;
    flow.left = std::max(0.0, flow.left - flow.rate * (now_ - flow.since).value());
    flow.since = now_;
  }

  void push(const Instant& instant) { heap_.push(instant); }

  /// A flow that stands still has no end yet.
  void plan(Flow& flow) {
    flow.plan = next_++;
    if (flow.stopped_at) return;
    flow.rate = bandwidths_[flow.route.links.front().value()].value();
    for (LinkId link : flow.route.links) flow.rate = std::min(flow.rate, bandwidths_[link.value()].value());
    push({flow.since + Seconds(flow.left / flow.rate), flow.plan, Kind::EndOfFlow, flow.start, flow.plan});
  }

  void happen(const Instant& instant, Executor& executor) {
    if (instant.kind == Kind::Complete) {
      executor.complete(instant.start);
    } else if (instant.kind == Kind::Wake) {
      executor.wake(instant.token);
    } else {
      const auto flow = flows_.find(instant.start.op.value());
      if (flow == flows_.end() || flow->second.plan != instant.token) return;
      flows_.erase(flow);
      executor.complete(instant.start);
    }
  }

  const Platform& platform_;
  TransferCost cost_;
  bool links_change_;
  std::vector<BytesPerSecond> bandwidths_;
  std::set<LinkId> down_;
  std::map<std::uint64_t, Flow> flows_;
  std::priority_queue<Instant, std::vector<Instant>, std::greater<>> heap_;
  std::uint64_t next_ = 0;
  Seconds now_;
};

}  // namespace

void evaluate_by_events(const Platform& platform, OpSource source, const Events& events, const RunSink& sink) {
  const bool links_change = std::ranges::any_of(events, [](const Event& event) {
    return std::holds_alternative<BandwidthChange>(event.change) || std::holds_alternative<LinkFailure>(event.change);
  });
  HeapClock clock(platform, links_change);
  Executor executor(platform, std::move(source), events, sink, clock);
  clock.run(executor);
  if (!executor.is_finished()) {
    throw InternalError(std::to_string(executor.unfinished()) + " operations can never start");
  }
}

}  // namespace stagecraft
