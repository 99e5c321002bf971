// Random operation graphs, against a simulator that is too simple to be wrong in the same way.

#include "tests/analytic/run.hpp"
#include "tests/random_cases.hpp"

#include <doctest/doctest.h>

#include <array>
#include <random>
#include <tuple>

using namespace stagecraft;
using namespace stagecraft::hand_made;

namespace {

/// At each instant: end what ends, then walk over all operations that are ready, by (priority, time they became ready,
/// number), and start each whose lanes and exclusive links are free and that is the next one on its strict lanes.
/// Events come between the ends and the starts of an instant; what a failure aborts is as if it had never started.
/// Quadratic, without queues, and it knows every operation from the beginning.
class Naive {
 public:
  explicit Naive(const Draft& draft, Events events = {})
      : draft_(draft), events_(std::move(events)), count_(draft.graph.ops.size()), needs_(count_), state_(count_) {
    std::size_t extra = 0;
    for (std::size_t i = 0; i < count_; ++i) {
      const Op& op = draft.graph.ops[i];
      if (!op.lane.is_none()) needs_[i].lanes.push_back(op.lane.value());
      for (std::uint8_t k = 0; k < op.extra_lanes; ++k)
        needs_[i].lanes.push_back(draft.graph.extra_lanes[extra++].value());
      needs_[i].seconds = op.seconds;
      if (!is_transfer(op.kind) || op.literal) continue;
      Route route;
      REQUIRE(find_route(draft.platform, op.from, op.to, route));
      BytesPerSecond narrowest(1e30);
      for (LinkId link : route.links) {
        narrowest = std::min(narrowest, draft.platform.links[link].bandwidth);
        if (draft.platform.links[link].sharing == Sharing::Exclusive) needs_[i].links.push_back(link.value());
      }
      needs_[i].seconds = route.links.empty() ? Seconds(0) : route.latency + op.bytes / narrowest;
    }
  }

  /// Start and end of every operation.
  std::vector<std::pair<Seconds, Seconds>> run() {
    Seconds now;
    std::size_t left = count_;
    while (left > 0) {
      for (State& state : state_) {
        if (state.phase == Phase::Running && state.end <= now) {
          state.phase = Phase::Done;
          --left;
        }
      }
      for (const Event& event : events_) {
        if (event.at == now && last_ < now) strike(event, now);
      }
      last_ = now;
      for (std::size_t i : candidates(now)) {
        if (may_start(i) && !is_down(i, now)) start(i, now);
      }
      now = next_instant(now);
    }
    std::vector<std::pair<Seconds, Seconds>> spans;
    for (const State& state : state_) spans.emplace_back(state.start, state.end);
    return spans;
  }

 private:
  enum class Phase { Waiting, Running, Done };
  struct Needs {
    std::vector<std::uint32_t> lanes;
    std::vector<std::uint32_t> links;
    Seconds seconds;
  };
  struct State {
    Phase phase = Phase::Waiting;
    Seconds start;
    Seconds end;
    Seconds work;  ///< left at `work_at`
    Seconds work_at;
  };

  /// The devices that an operation computes on, sends from or sends to.
  [[nodiscard]] bool involves(std::size_t i, DeviceId device) const {
    const Op& op = draft_.graph.ops[i];
    if (op.from == draft_.platform.place(device) || op.to == draft_.platform.place(device)) return true;
    return std::ranges::any_of(needs_[i].lanes,
                               [&](std::uint32_t lane) { return draft_.graph.new_lanes[lane].device == device; });
  }
  [[nodiscard]] bool is_down(std::size_t i, Seconds now) const {
    return std::ranges::any_of(events_, [&](const Event& event) {
      const auto* failure = std::get_if<Failure>(&event.change);
      return failure != nullptr && event.at <= now && now < event.at + failure->duration &&
             involves(i, failure->device);
    });
  }
  [[nodiscard]] double factor(std::size_t i) const {
    double slowest = 0.0;
    for (std::uint32_t device = 0; device < 4; ++device) {
      if (involves(i, DeviceId(device))) slowest = std::max(slowest, slowdown_[device]);
    }
    return slowest;
  }
  void strike(const Event& event, Seconds now) {
    if (const auto* failure = std::get_if<Failure>(&event.change)) {
      for (std::size_t i = 0; i < count_; ++i) {
        if (state_[i].phase == Phase::Running && involves(i, failure->device)) state_[i] = {};
      }
      return;
    }
    const auto& change = std::get<Slowdown>(event.change);
    for (std::size_t i = 0; i < count_; ++i) {
      State& state = state_[i];
      if (state.phase != Phase::Running || !is_compute(draft_.graph.ops[i].kind)) continue;
      if (!involves(i, change.device)) continue;
      const double before = factor(i);
      const double kept = std::exchange(slowdown_[change.device.value()], change.factor);
      state.work = state.work - (now - state.work_at) / before;
      state.work_at = now;
      state.end = now + state.work * factor(i);
      slowdown_[change.device.value()] = kept;
    }
    slowdown_[change.device.value()] = change.factor;
  }

  /// When all dependencies have ended and the not-before time has come; `kNever` while that is not known.
  [[nodiscard]] Seconds ready_at(std::size_t i) const {
    Seconds at = draft_.graph.ops[i].not_before;
    for (OpId earlier : draft_.graph.dependencies_of(i)) {
      const State& state = state_[earlier.value()];
      if (state.phase != Phase::Done) return kNever;
      at = std::max(at, state.end);
    }
    return at;
  }
  [[nodiscard]] std::vector<std::size_t> candidates(Seconds now) const {
    std::vector<std::size_t> found;
    for (std::size_t i = 0; i < count_; ++i) {
      if (state_[i].phase == Phase::Waiting && ready_at(i) <= now) found.push_back(i);
    }
    std::ranges::sort(found, {},
                      [&](std::size_t i) { return std::tuple(draft_.graph.ops[i].priority, ready_at(i), i); });
    return found;
  }
  [[nodiscard]] bool may_start(std::size_t i) const {
    for (std::size_t other = 0; other < count_; ++other) {
      const bool is_next = other < i && state_[other].phase == Phase::Waiting;
      const bool is_running = state_[other].phase == Phase::Running;
      for (std::uint32_t lane : needs_[i].lanes) {
        if (std::ranges::find(needs_[other].lanes, lane) == needs_[other].lanes.end()) continue;
        const bool strict = draft_.graph.new_lanes[lane].discipline == Discipline::Strict;
        if (is_running || (strict && is_next)) return false;
      }
      for (std::uint32_t link : needs_[i].links) {
        if (is_running && std::ranges::find(needs_[other].links, link) != needs_[other].links.end()) return false;
      }
    }
    return true;
  }
  void start(std::size_t i, Seconds now) {
    const double pace = is_compute(draft_.graph.ops[i].kind) ? factor(i) : 1.0;
    state_[i] = {Phase::Running, now, now + needs_[i].seconds * pace, needs_[i].seconds, now};
  }
  [[nodiscard]] Seconds next_instant(Seconds now) const {
    Seconds next = kNever;
    for (std::size_t i = 0; i < count_; ++i) {
      if (state_[i].phase == Phase::Running) next = std::min(next, state_[i].end);
      const Seconds ready = state_[i].phase == Phase::Waiting ? ready_at(i) : kNever;
      if (ready > now) next = std::min(next, ready);
    }
    for (const Event& event : events_) {
      const auto* failure = std::get_if<Failure>(&event.change);
      const Seconds repaired = failure == nullptr ? event.at : event.at + failure->duration;
      if (event.at > now) next = std::min(next, event.at);
      if (repaired > now) next = std::min(next, repaired);
    }
    return next;
  }

  const Draft& draft_;
  const Events events_;
  std::size_t count_;
  std::array<double, 4> slowdown_ = {1.0, 1.0, 1.0, 1.0};
  Seconds last_{-1.0};
  std::vector<Needs> needs_;
  std::vector<State> state_;
};

struct Dice {
  std::mt19937_64 engine;
  std::uint32_t below(std::uint32_t end) { return static_cast<std::uint32_t>(engine() % end); }
  bool one_in(std::uint32_t n) { return below(n) == 0; }
};

/// The features that a random graph may have besides strict lanes.
struct Spice {
  bool ready_lanes = false;
  bool exclusive = false;
  bool events = false;
};

/// Devices in a row over three half-duplex links, so that far pairs cross the links of near ones.
Platform row_of_four(Dice& dice, bool exclusive) {
  PlatformSpec spec;
  spec.device_kinds.push_back({"A", Bytes(1000), 1.0, Bytes(0), std::nullopt});
  ExplicitForm form;
  for (const char* name : {"gpu0", "gpu1", "gpu2", "gpu3"}) form.devices.push_back({name, DeviceKindId(0), {}});
  for (const char* name : {"a", "b", "c"}) {
    const Sharing sharing = exclusive && !dice.one_in(4) ? Sharing::Exclusive : Sharing::Fair;
    const Duplex duplex = dice.one_in(2) ? Duplex::Half : Duplex::Full;
    form.links.push_back(
        {name, std::nullopt, {BytesPerSecond(1 + dice.below(2)), Seconds(0.25 * dice.below(3)), duplex, sharing}});
  }
  for (std::uint32_t from = 0; from < 4; ++from) {
    for (std::uint32_t to = from + 1; to < 4; ++to) {
      ExplicitRoute route{DeviceId(from), DeviceId(to), {}};
      for (std::uint32_t link = from; link < to; ++link) route.links.push_back(link);
      form.routes.push_back(route);
    }
  }
  spec.form = form;
  return build_platform(spec);
}

void add_random_op(Draft& draft, Dice& dice, const std::vector<LaneId>& lanes, const std::vector<LaneId>& channels) {
  const std::size_t number = draft.graph.ops.size();
  std::vector<OpId> after;
  for (std::uint32_t k = dice.below(3); k > 0 && number > 0; --k) {
    after.emplace_back(number - 1 - dice.below(static_cast<std::uint32_t>(std::min<std::size_t>(number, 12))));
  }
  const std::string name = std::to_string(number);
  if (dice.one_in(3)) {
    draft.send(name, dice.below(4), dice.below(4), dice.below(5), after);
    if (dice.one_in(2)) draft.last().lane = channels[dice.below(2)];
    if (dice.one_in(6)) {
      draft.last().literal = true;
      draft.last().seconds = Seconds(0.5 * dice.below(4));
    }
  } else {
    const std::uint32_t at = dice.below(4);
    draft.compute(name, dice.one_in(2) ? OpKind::Forward : OpKind::Backward, lanes[at], 0.25 * dice.below(7), after);
    if (dice.one_in(5)) draft.graph.occupy(lanes[(at + 1 + dice.below(3)) % 4]);
  }
  if (dice.one_in(8)) draft.last().not_before = Seconds(0.5 * dice.below(20));
  if (dice.one_in(4)) draft.last().priority = static_cast<std::int32_t>(dice.below(3)) - 1;
}

Draft random_draft(std::uint64_t seed, Spice spice) {
  Dice dice{std::mt19937_64(seed)};
  Draft draft{row_of_four(dice, spice.exclusive)};
  const auto discipline = [&] { return spice.ready_lanes && dice.one_in(2) ? Discipline::Ready : Discipline::Strict; };
  std::vector<LaneId> lanes;
  std::vector<LaneId> channels;
  for (std::uint32_t device = 0; device < 4; ++device) lanes.push_back(draft.lane(device, discipline()));
  for (int i = 0; i < 2; ++i) channels.push_back(draft.channel(discipline()));
  const std::uint32_t count = 5 + dice.below(56);
  for (std::uint32_t i = 0; i < count; ++i) add_random_op(draft, dice, lanes, channels);
  return draft;
}

std::vector<std::pair<Seconds, Seconds>> spans_of(const Run& run, std::size_t count) {
  std::vector<std::pair<Seconds, Seconds>> spans(count);
  for (const TimelineEntry& entry : run.timeline) {
    if (entry.id.value() < count) spans[entry.id.value()] = {entry.start, entry.end};
  }
  return spans;
}

/// Up to six failures and slowdowns, at instants at which other things happen too.
Events random_events(std::uint64_t seed) {
  Dice dice{std::mt19937_64(seed * 1000003)};
  Events events;
  for (std::uint32_t k = 1 + dice.below(6); k > 0; --k) {
    const DeviceId device(dice.below(4));
    const Seconds at(0.5 * dice.below(40));
    if (dice.one_in(2)) {
      events.push_back({at, std::nullopt, Failure{device, Seconds(0.5 * (1 + dice.below(8)))}});
    } else {
      events.push_back({at, std::nullopt, Slowdown{device, dice.one_in(2) ? 2.0 : 0.5}});
    }
  }
  return events;
}

void compare_with_naive(std::uint64_t first_seed, std::uint64_t last_seed, Spice spice) {
  const std::uint64_t end = first_seed + testing::random_cases(last_seed - first_seed + 1);
  for (std::uint64_t seed = first_seed; seed < end; ++seed) {
    CAPTURE(seed);
    const Draft draft = random_draft(seed, spice);
    const Events events = spice.events ? random_events(seed) : Events{};
    const auto expected = Naive(draft, events).run();
    CHECK(spans_of(by_events(draft, events), expected.size()) == expected);
    if (!spice.ready_lanes && !spice.exclusive && !spice.events)
      CHECK(spans_of(both_ways(draft), expected.size()) == expected);
  }
}

}  // namespace

TEST_CASE("random: strict lanes and fair links, both ways, seeds 1 to 500") { compare_with_naive(1, 500, {}); }

TEST_CASE("random: exclusive links, seeds 1001 to 1500") { compare_with_naive(1001, 1500, {.exclusive = true}); }

TEST_CASE("random: ready lanes, seeds 2001 to 2500") { compare_with_naive(2001, 2500, {.ready_lanes = true}); }

TEST_CASE("random: ready lanes and exclusive links, seeds 3001 to 3500") {
  compare_with_naive(3001, 3500, {.ready_lanes = true, .exclusive = true});
}

TEST_CASE("random: failures and slowdowns on strict lanes, seeds 4001 to 4500") {
  compare_with_naive(4001, 4500, {.events = true});
}

TEST_CASE("random: failures and slowdowns among everything else, seeds 5001 to 5500") {
  compare_with_naive(5001, 5500, {.ready_lanes = true, .exclusive = true, .events = true});
}

TEST_CASE("random: the parts of every device's time add up to the iteration, seeds 1 to 200") {
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    CAPTURE(seed);
    const Run run = by_events(random_draft(seed, {.ready_lanes = seed % 2 == 0, .exclusive = seed % 3 == 0}));
    double busy = 0.0;
    for (const DeviceReport& device : run.report.devices) {
      const TimeSplit& time = device.time;
      const Seconds sum =
          time.compute + time.recompute + time.exposed_communication + time.all_reduce + time.update + time.idle;
      CHECK(sum == run.report.iterations.back());
      CHECK(time.exposed_communication >= Seconds(0));
      CHECK(time.ramps >= Seconds(0));
      CHECK(time.ramps <= time.idle);
      busy += device.busy.value();
    }
    if (run.report.iterations.back() == Seconds(0)) continue;
    CHECK(run.report.bubble_ratio == doctest::Approx(1.0 - busy / (4 * run.report.iterations.back().value())));
  }
}
