#include "sim/schedule/joined_exchanges.hpp"

#include "sim/base/error.hpp"
#include "sim/schedule/exchange_phases.hpp"
#include "sim/schedule/flow_times.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <tuple>
#include <utility>

namespace stagecraft {
namespace {

/// Which phases of exchanges are summed up as one: among the same members, of all-reduces and halves of them those
/// inside nodes, then those across nodes or in one ring, then those inside nodes again; of others the same step.
using Slot = std::tuple<Exchange::Among, Exchange::Kind, std::size_t>;

/// The slot of the `i`-th of `count` phases.
Slot slot_of(const Exchange& exchange, std::size_t count, std::size_t i) {
  const Exchange::Kind kind = exchange.kind;
  if (kind == Exchange::Kind::AllToAll || kind == Exchange::Kind::Shift) return {exchange.among, kind, i};
  const std::size_t gathers = kind == Exchange::Kind::AllGather ? 1 : 0;
  return {exchange.among, Exchange::Kind::AllReduce, count == 1 ? 1 : i + gathers};
}

/// What is summed up of a phase.
struct PhaseSum {
  Seconds time;
  std::map<std::pair<DeviceId, DeviceId>, Bytes> bytes;  ///< by the ends of a flow
};

void add_phase(const Platform& platform, const AllReducePhase& phase, const Exchange& exchange, PhaseSum& sum) {
  const Seconds once = latency_before(platform, phase) + phase_time(platform, phase, Bytes(0), exchange.bytes);
  const double waited = waited_part(platform, exchange);
  sum.time += once * (waited * static_cast<double>(exchange.count));
  for (const AllReduceFlow& flow : phase.flows) {
    const Bytes bytes = share_up(exchange.bytes, flow.part, flow.of) * exchange.count;
    sum.bytes[{flow.from, flow.to}] += Bytes(static_cast<std::int64_t>(waited * static_cast<double>(bytes.value())));
  }
}

/// What is left of exchanges that run beside computations, as one that runs beside nothing. None if nothing is.
std::optional<Exchange> exposed(const Platform& platform, const AllReduce& whole, Exchange exchange) {
  if (exchange.beside == Seconds()) return exchange;
  const auto time = [&](Bytes bytes) { return lowered_time(platform, whole, Bytes(0), bytes); };
  const Seconds latency = time(Bytes(0));
  const Seconds left = (time(exchange.bytes) - exchange.beside) * static_cast<double>(exchange.count);
  if (left <= latency) return std::nullopt;
  const Seconds all = (time(exchange.bytes) - latency) * static_cast<double>(exchange.count);
  const double bytes = static_cast<double>((exchange.bytes * exchange.count).value()) * ((left - latency) / all);
  exchange.bytes = Bytes(static_cast<std::int64_t>(bytes));
  exchange.count = 1;
  return exchange;
}

ExchangedPhase joined_phase(const Platform& platform, const PhaseSum& sum) {
  AllReducePhase phase{1, {}};
  constexpr Bytes kOne{1};  // so that a flow's part counts bytes
  for (const auto& [ends, bytes] : sum.bytes) phase.flows.push_back({ends.first, ends.second, bytes.value(), 1});
  const std::vector<Seconds> times = flow_times(platform, phase, Bytes(0), kOne);
  ExchangedPhase result;
  result.latency = std::max(sum.time - phase_time(platform, phase, Bytes(0), kOne), Seconds(0));
  for (std::size_t i = 0; i < times.size(); ++i) {
    const AllReduceFlow& flow = phase.flows[i];
    result.flows.push_back({flow.from, flow.to, flow_bytes(platform, flow, Bytes(0), kOne), times[i]});
  }
  return result;
}

}  // namespace

std::vector<ExchangedPhase> joined_exchanges(const Platform& platform, const Group& group, const Degrees& degrees,
                                             const std::vector<Exchange>& exchanges) {
  STAGECRAFT_CHECK(platform.spec.collectives.table.empty(), "a table tells nothing of links");
  std::map<Slot, PhaseSum> sums;
  for (const Exchange& given : exchanges) {
    if (given.hidden || waited_part(platform, given) == 0.0) continue;
    const MemberRings sets = exchanging(group, degrees, given.among);
    if (sets.front().size() < 2) continue;
    const AllReduce whole = exchange_phases(platform, sets, given.kind, given.bytes);
    const std::optional<Exchange> exchange = exposed(platform, whole, given);
    if (!exchange) continue;
    for (std::size_t i = 0; i < whole.phases.size(); ++i) {
      add_phase(platform, whole.phases[i], *exchange, sums[slot_of(*exchange, whole.phases.size(), i)]);
    }
  }
  std::vector<ExchangedPhase> phases;
  for (const auto& [slot, sum] : sums) phases.push_back(joined_phase(platform, sum));
  return phases;
}

}  // namespace stagecraft
