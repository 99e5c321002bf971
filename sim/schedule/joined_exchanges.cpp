#include "sim/schedule/joined_exchanges.hpp"

#include "sim/base/error.hpp"
#include "sim/schedule/exchange_time.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <map>
#include <utility>

namespace stagecraft {
namespace {

/// Inside nodes, across them or in one ring, and inside nodes again.
constexpr std::size_t kPhases = 3;

/// The phase of an exchange with `count` of them that its `i`-th one is.
std::size_t phase_of(Exchange::Kind kind, std::size_t count, std::size_t i) {
  if (count == 1) return 1;
  return kind == Exchange::Kind::AllGather ? i + 1 : i;
}

/// What is summed up of a phase.
struct PhaseSum {
  Seconds time;
  std::map<std::pair<DeviceId, DeviceId>, Bytes> bytes;  ///< by the ends of a flow
};

void add_phase(const Platform& platform, const AllReducePhase& phase, const Exchange& exchange, PhaseSum& sum) {
  const Seconds once =
      latency_before(platform, phase) + std::ranges::max(flow_times(platform, phase, Bytes(0), exchange.bytes));
  sum.time += once * static_cast<double>(exchange.count);
  for (const AllReduceFlow& flow : phase.flows) {
    sum.bytes[{flow.from, flow.to}] += share_up(exchange.bytes, flow.part, flow.of) * exchange.count;
  }
}

ExchangedPhase joined_phase(const Platform& platform, const PhaseSum& sum) {
  AllReducePhase phase{1, {}};
  constexpr Bytes kOne{1};  // so that a flow's part counts bytes
  for (const auto& [ends, bytes] : sum.bytes) phase.flows.push_back({ends.first, ends.second, bytes.value(), 1});
  const std::vector<Seconds> times = flow_times(platform, phase, Bytes(0), kOne);
  ExchangedPhase result;
  result.latency = std::max(sum.time - std::ranges::max(times), Seconds(0));
  for (std::size_t i = 0; i < times.size(); ++i) {
    const AllReduceFlow& flow = phase.flows[i];
    result.flows.push_back({flow.from, flow.to, flow_bytes(platform, flow, Bytes(0), kOne), times[i]});
  }
  return result;
}

}  // namespace

std::vector<ExchangedPhase> joined_exchanges(const Platform& platform, const Group& group,
                                             const std::vector<Exchange>& exchanges) {
  STAGECRAFT_CHECK(platform.spec.collectives.table.empty(), "a table tells nothing of links");
  std::array<PhaseSum, kPhases> sums;
  for (const Exchange& exchange : exchanges) {
    if (exchange.hidden) continue;
    const AllReduce whole = exchange_phases(platform, group, exchange.kind, exchange.bytes);
    for (std::size_t i = 0; i < whole.phases.size(); ++i) {
      add_phase(platform, whole.phases[i], exchange, sums[phase_of(exchange.kind, whole.phases.size(), i)]);
    }
  }
  std::vector<ExchangedPhase> phases;
  for (const PhaseSum& sum : sums) {
    if (!sum.bytes.empty()) phases.push_back(joined_phase(platform, sum));
  }
  return phases;
}

}  // namespace stagecraft
