// Programs with other times or bytes.
#include "sim/schedule/stage_program.hpp"

#include <algorithm>
#include <utility>

namespace stagecraft {
namespace {

template <class Change>
void for_each_exchange(StageExchanges& exchanges, const Change& change) {
  std::ranges::for_each(exchanges.forward, change);
  for (StepExchanges& step : exchanges.steps) {
    std::ranges::for_each(step.backward, change);
    std::ranges::for_each(step.recompute, change);
  }
}

}  // namespace

StageProgram with_times(StageProgram program, double factor) {
  program.forward = program.forward * factor;
  for (Seconds& part : program.forward_parts) part = part * factor;
  for (BackwardStep& step : program.backward) {
    step.recompute = step.recompute * factor;
    step.backward = step.backward * factor;
    step.weight = step.weight * factor;
  }
  if (program.exchanges) {
    for_each_exchange(*program.exchanges, [&](Exchange& exchange) { exchange.beside = exchange.beside * factor; });
  }
  return program;
}

StageProgram with_overhead(StageProgram program, Seconds overhead) {
  if (overhead <= Seconds(0)) return program;
  program.overhead = overhead;
  program.forward += overhead;
  if (!program.forward_parts.empty()) program.forward_parts.front() += overhead;
  program.backward.front().backward += overhead;
  return program;
}

StageProgram with_bytes_of(StageProgram program, const StageProgram& other) {
  for (std::size_t at = 0; at < program.backward.size(); ++at) {
    BackwardStep& step = program.backward[at];
    step.restored = other.backward[at].restored;
    step.released = other.backward[at].released;
    step.freed = other.backward[at].freed;
    step.workspace = other.backward[at].workspace;
  }
  program.kept = other.kept;
  program.swapped = other.swapped;
  program.workspace = other.workspace;
  return program;
}

StageProgram scaled(StageProgram program, double factor, const Share& share) {
  const double time = factor * static_cast<double>(share.end - share.begin) / static_cast<double>(share.of);
  program = with_times(std::move(program), time);
  program.kept = share * program.kept;
  for (SwappedStash& part : program.swapped) part.bytes = share * part.bytes;
  Bytes used_up;
  Bytes given;
  for (BackwardStep& step : program.backward) {
    step.restored = share * step.restored;
    step.released = share * step.released;
    step.workspace = share * step.workspace;
    used_up += step.freed;
    step.freed = share * used_up - given;
    given += step.freed;
  }
  if (!program.backward.empty()) program.backward.back().freed += program.stash() - given;  // its parts are rounded up
  program.workspace = share * program.workspace;
  if (program.exchanges) {
    for_each_exchange(*program.exchanges, [&](Exchange& exchange) { exchange.bytes = share * exchange.bytes; });
  }
  return program;
}

StageProgram with_exchanges(StageProgram program, const std::function<Seconds(const std::vector<Exchange>&)>& time_of) {
  if (!program.exchanges) return program;
  program.exchange = time_of(program.exchanges->forward);
  program.forward += program.exchange;
  for (std::size_t at = 0; at < program.backward.size(); ++at) {
    BackwardStep& step = program.backward[at];
    const StepExchanges& exchanges = program.exchanges->steps[at];
    step.exchange = time_of(exchanges.backward);
    step.recompute_exchange = time_of(exchanges.recompute);
    step.backward += step.exchange;
    step.recompute += step.recompute_exchange;
  }
  return program;
}

}  // namespace stagecraft
