#pragma once

#include "sim/engine/clock.hpp"
#include "sim/engine/dispatcher.hpp"
#include "sim/engine/observations.hpp"
#include "sim/engine/operation_store.hpp"
#include "sim/engine/outages.hpp"
#include "sim/engine/resources.hpp"
#include "sim/engine/span_log.hpp"
#include "sim/engine/speeds.hpp"
#include "sim/engine/wakes.hpp"
#include "sim/model/events.hpp"
#include "sim/model/platform.hpp"

#include <cstdint>
#include <map>
#include <utility>
#include <vector>

namespace stagecraft {

/// The parts of a run that events act on. They must outlive the `Disruptions`.
struct RunParts {
  const Platform& platform;
  Clock& clock;
  OperationStore& operations;
  Resources& resources;
  Outages& outages;
  Speeds& speeds;
  Wakes& wakes;
  Dispatcher& dispatcher;
  SpanLog& log;
  Observations& observations;
};

/// Applies events when their time comes, also to operations under way. An operation that ends at the instant of an
/// event has ended before it, and one that starts at that instant starts after it.
class Disruptions {
 public:
  Disruptions(const RunParts& run, Events events) : run_(run), events_(std::move(events)) {}

  /// Applies the events that are due at the start of the run, and sets wakes for the others.
  void begin();
  /// An event's instant has come: `Wake::Kind::Event`.
  void strike(std::uint64_t event);
  /// The first forward of a microbatch has started.
  void strike_at(std::uint32_t microbatch);
  /// A device leaves that was to leave: `Wake::Kind::Departure`.
  void leave(DeviceId device) { apply(Failure{device, kForEver}); }
  /// One of the device's failures is over: `Wake::Kind::Recovery`. Returns the transfers that have waited for it.
  [[nodiscard]] std::vector<std::uint64_t> recover(DeviceId device);
  /// One of the link's failures is over: `Wake::Kind::LinkRecovery`.
  void recover(LinkId link);

 private:
  void apply(const Slowdown& change);
  void apply(const BandwidthChange& change);
  void apply(const MemoryLimit& change);
  void apply(const Failure& change);
  void apply(const LinkFailure& change);
  void apply(const Departure& change);
  static void apply(const ModelChange&) {}
  static void apply(const SizeChange&) {}
  void apply(const Jitter& change);
  void apply(const MicrobatchWork& change);
  void restart_computations();
  void abort(std::uint64_t op);
  [[nodiscard]] bool is_running(const SpanLog::Started& started) const;
  [[nodiscard]] bool involves(std::uint64_t op, DeviceId device) const;

  RunParts run_;
  Events events_;
  std::multimap<std::uint32_t, std::uint64_t> at_microbatch_;  ///< by microbatch: events that have not happened yet
  std::map<LinkId, std::uint32_t> failures_;                   ///< by link: number of failures that last
};

}  // namespace stagecraft
