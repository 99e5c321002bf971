#pragma once

#include "sim/analytic/evaluate.hpp"
#include "sim/model/events.hpp"
#include "sim/model/op_graph.hpp"
#include "sim/model/platform.hpp"
#include "sim/model/timeline.hpp"
#include "sim/replay/replay.hpp"

#include <cstdint>
#include <initializer_list>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace stagecraft::test {

/// Devices g0, g1, … of one kind, with the links and routes that a test asks for.
class Wiring {
 public:
  explicit Wiring(std::uint32_t devices) {
    spec_.name = "wired";
    spec_.device_kinds.push_back({"A", Bytes(std::int64_t{1} << 40), 1.0, Bytes(0), std::nullopt});
    for (std::uint32_t i = 0; i < devices; ++i) form_.devices.push_back({"g" + std::to_string(i), DeviceKindId(0), {}});
  }
  Wiring& connect(std::uint32_t a, std::uint32_t b, const LinkSpec& link) {
    form_.links.push_back({"", std::pair(DeviceId(a), DeviceId(b)), link});
    return *this;
  }
  /// A named link that routes may share; returns its number.
  std::size_t cable(const LinkSpec& link) {
    form_.links.push_back({"cable" + std::to_string(form_.links.size()), std::nullopt, link});
    return form_.links.size() - 1;
  }
  Wiring& route(std::uint32_t a, std::uint32_t b, std::vector<std::size_t> cables) {
    form_.routes.push_back({DeviceId(a), DeviceId(b), std::move(cables)});
    return *this;
  }
  Wiring& host(std::uint32_t device, const LinkSpec& link) {
    form_.devices[DeviceId(device)].host = HostSpec{Bytes(std::int64_t{1} << 40), link, 1};
    return *this;
  }
  [[nodiscard]] Platform build() const {
    PlatformSpec spec = spec_;
    spec.form = form_;
    return build_platform(std::move(spec));
  }

 private:
  PlatformSpec spec_;
  ExplicitForm form_;
};

/// A small op graph by hand. Computations of one device run in the order in which they are added.
class Work {
 public:
  explicit Work(std::uint32_t devices) {
    for (std::uint32_t i = 0; i < devices; ++i) graph_.new_lanes.push_back({Discipline::Strict, DeviceId(i)});
  }
  OpId compute(std::uint32_t device, double seconds, std::initializer_list<OpId> after = {}) {
    Op op;
    op.kind = OpKind::Update;
    op.lane = LaneId(device);
    op.from = op.to = PlaceId(device);
    op.seconds = Seconds(seconds);
    return add(op, after);
  }
  OpId send(std::uint32_t from, std::uint32_t to, std::int64_t bytes, std::initializer_list<OpId> after = {},
            std::uint8_t transfer_class = 0) {
    Op op;
    op.kind = transfer_class == 0 ? OpKind::Activation : OpKind::SwapOut;
    op.transfer_class = transfer_class;
    op.from = PlaceId(from);
    op.to = PlaceId(to);
    op.bytes = Bytes(bytes);
    return add(op, after);
  }
  OpId delay(double seconds, std::initializer_list<OpId> after = {}) {
    Op op;
    op.kind = OpKind::Delay;
    op.seconds = Seconds(seconds);
    return add(op, after);
  }
  OpId add(const Op& op, std::initializer_list<OpId> after = {}) {
    const OpId id = graph_.append(op);
    for (OpId earlier : after) graph_.depend_on(earlier);
    return id;
  }
  [[nodiscard]] OpGraph& graph() { return graph_; }
  /// With the barrier that ends the only iteration.
  [[nodiscard]] OpGraph finished() const {
    OpGraph graph = graph_;
    Op op;
    op.kind = OpKind::Barrier;
    graph.append(op);
    for (std::size_t i = 0; i + 1 < graph.ops.size(); ++i) graph.depend_on(OpId(i));
    return graph;
  }

 private:
  OpGraph graph_;
};

inline ReplayOptions with_timeline() {
  ReplayOptions options;
  options.record = RecordPart::All;
  return options;
}

/// Start and end of every operation that was not aborted.
using Times = std::map<OpId, std::pair<double, double>>;

inline Times times_of(const Timeline& timeline) {
  Times times;
  for (const TimelineEntry& entry : timeline) {
    if (!entry.aborted) times[entry.id] = {entry.start.value(), entry.end.value()};
  }
  return times;
}

inline Times replayed(const Platform& platform, const Work& work, const Events& events = {}) {
  const OpGraph graph = work.finished();
  return times_of(replay(platform, [&] { return single_window(graph); }, events, with_timeline()).record.timeline);
}

inline Times evaluated(const Platform& platform, const Work& work, const Events& events = {}) {
  Timeline timeline;
  evaluate(platform, single_window(work.finished()), events, collect_into(timeline));
  return times_of(timeline);
}

}  // namespace stagecraft::test
