#pragma once

#include "sim/model/measurement.hpp"
#include "sim/model/op_graph.hpp"
#include "sim/model/platform.hpp"
#include "sim/model/timeline.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>
#include <initializer_list>
#include <optional>
#include <string>
#include <utility>
#include <vector>

/// Small platforms and operation graphs written by hand. All times in the tests are sums of a few powers of two, which
/// doubles add without rounding, so that spans are compared exactly.
namespace stagecraft::hand_made {

/// Devices gpu0 … with a link of its own for each pair.
struct Shape {
  std::uint32_t devices = 2;
  double bandwidth = 1.0;
  double latency = 0.0;
  Duplex duplex = Duplex::Full;
  Sharing sharing = Sharing::Fair;
  std::int64_t memory = 1000;
  double host_bandwidth = 0.0;  ///< 0: no hosts
};

inline Platform platform(const Shape& shape = {}) {
  PlatformSpec spec;
  spec.name = "hand-made";
  spec.device_kinds.push_back({"A", Bytes(shape.memory), 1.0, Bytes(0), std::nullopt});
  ExplicitForm form;
  for (std::uint32_t i = 0; i < shape.devices; ++i) {
    ExplicitDevice device{"gpu" + std::to_string(i), DeviceKindId(0), std::nullopt};
    if (shape.host_bandwidth > 0.0) {
      device.host = {Bytes(shape.memory), LinkSpec{BytesPerSecond(shape.host_bandwidth), Seconds(0)}, 1};
    }
    form.devices.push_back(device);
  }
  form.default_link = {BytesPerSecond(shape.bandwidth), Seconds(shape.latency), shape.duplex, shape.sharing};
  spec.form = form;
  return build_platform(spec);
}

/// An operation graph whose operations have names, for pictures of a run.
struct Draft {
  Platform platform;
  OpGraph graph;
  std::vector<std::string> names = {};  ///< by operation; empty: not shown
  Measurement measurement = {};

  LaneId lane(std::uint32_t device, Discipline discipline = Discipline::Strict) {
    graph.new_lanes.push_back({discipline, DeviceId(device)});
    return LaneId(graph.new_lanes.size() - 1);
  }
  LaneId channel(Discipline discipline = Discipline::Strict) {
    graph.new_lanes.push_back({discipline, DeviceId::none()});
    return LaneId(graph.new_lanes.size() - 1);
  }
  OpId add(const std::string& name, const Op& op, const std::vector<OpId>& dependencies = {}) {
    const OpId id = graph.append(op);
    for (OpId earlier : dependencies) graph.depend_on(earlier);
    names.push_back(name);
    return id;
  }
  /// A computation on the lane's device.
  OpId compute(const std::string& name, OpKind kind, LaneId lane, double seconds, const std::vector<OpId>& after = {},
               std::uint32_t microbatch = 0, std::uint32_t stage = 0) {
    Op op;
    op.kind = kind;
    op.lane = lane;
    op.from = op.to = place(graph.new_lanes[lane.value()].device.value());
    op.seconds = Seconds(seconds);
    op.microbatch = microbatch;
    op.stage = StageId(stage);
    announce(op.stage, graph.new_lanes[lane.value()].device);
    return add(name, op, after);
  }
  OpId transfer(const std::string& name, OpKind kind, PlaceId from, PlaceId to, std::int64_t bytes,
                const std::vector<OpId>& after = {}) {
    Op op;
    op.kind = kind;
    op.from = from;
    op.to = to;
    op.bytes = Bytes(bytes);
    return add(name, op, after);
  }
  OpId send(const std::string& name, std::uint32_t from, std::uint32_t to, std::int64_t bytes,
            const std::vector<OpId>& after = {}) {
    return transfer(name, OpKind::Activation, place(from), place(to), bytes, after);
  }
  /// The end of an iteration: after everything that is here.
  OpId barrier() {
    Op op;
    op.kind = OpKind::Barrier;
    std::vector<OpId> all;
    for (std::size_t i = 0; i < graph.ops.size(); ++i) all.emplace_back(graph.first_id.value() + i);
    return add("", op, all);
  }
  /// The graph's stages are those of its computations, on the devices of these.
  void announce(StageId stage, DeviceId device) {
    while (graph.new_stages.size() <= stage.value()) graph.new_stages.emplace_back();
    std::vector<DeviceId>& devices = graph.new_stages[stage.value()].devices;
    if (std::ranges::find(devices, device) == devices.end()) devices.push_back(device);
  }
  /// The operation added last.
  Op& last() { return graph.ops.back(); }

  [[nodiscard]] PlaceId place(std::uint32_t device) const { return platform.place(DeviceId(device)); }
  [[nodiscard]] PlaceId host(std::uint32_t of_device) const {
    return platform.place(platform.devices[DeviceId(of_device)].host);
  }
};

/// Operations [begin, end) of a graph as a window of their own; the first one brings the lanes and stages.
inline OpGraph window_of(const OpGraph& graph, std::size_t begin, std::size_t end) {
  OpGraph window;
  window.first_id = OpId(graph.first_id.value() + begin);
  if (begin == 0) {
    window.new_lanes = graph.new_lanes;
    window.new_stages = graph.new_stages;
  }
  std::size_t extra = 0;
  for (std::size_t i = 0; i < end; ++i) {
    if (i >= begin) {
      window.append(graph.ops[i]);
      window.ops.back().extra_lanes = 0;
      for (OpId earlier : graph.dependencies_of(i)) window.depend_on(earlier);
      for (const MemoryDelta& delta : graph.deltas_of(i)) window.add_delta(delta);
    }
    for (std::uint8_t k = 0; k < graph.ops[i].extra_lanes; ++k, ++extra) {
      if (i >= begin) window.occupy(graph.extra_lanes[extra]);
    }
  }
  window.retired = window.first_id;  // what later operations still refer to must stay
  for (std::size_t i = begin; i < graph.ops.size(); ++i) {
    for (OpId earlier : graph.dependencies_of(i)) window.retired = std::min(window.retired, earlier);
  }
  return window;
}

/// The graph cut into windows of `size` operations.
inline OpSource cut(const OpGraph& graph, std::size_t size, bool one_pass = false) {
  std::vector<OpGraph> windows;
  for (std::size_t begin = 0; begin < graph.ops.size(); begin += size) {
    windows.push_back(window_of(graph, begin, std::min(begin + size, graph.ops.size())));
  }
  return {[windows = std::move(windows), next = std::size_t{0}](const Observation&) mutable {
            return next < windows.size() ? std::optional<OpGraph>(windows[next++]) : std::nullopt;
          },
          one_pass};
}

inline std::string number(double value) {
  std::array<char, 40> text{};
  std::snprintf(text.data(), text.size(), "%.15g", value);
  return text.data();
}

/// A run in one line: `F0 0-1, x 1-1.5!, …`, by start, then by operation; `!` marks an aborted start.
inline std::string picture(Timeline timeline, const std::vector<std::string>& names) {
  std::ranges::sort(timeline, {}, [](const TimelineEntry& entry) {
    return std::tuple(entry.start, entry.id, entry.end, entry.from);
  });
  std::string text;
  for (const TimelineEntry& entry : timeline) {
    const std::string& name = names[entry.id.value()];
    if (name.empty()) continue;
    if (!text.empty()) text += ", ";
    text += name + " " + number(entry.start.value()) + "-" + number(entry.end.value()) + (entry.aborted ? "!" : "");
  }
  return text;
}

}  // namespace stagecraft::hand_made
