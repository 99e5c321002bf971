#include "sim/replay/replay_clock.hpp"

#include "sim/replay/density.hpp"

#include <algorithm>
#include <cmath>
#include <span>
#include <utility>

namespace stagecraft {
namespace {

// SimGrid reaches a date by adding differences and takes dates within 1e-12 s for one, so that the end of a flow may be
// off by as much. A transfer that never shared a link ends at the very instant `evaluate` would give.
double date_noise(Seconds date) { return 2e-12 * std::max(1.0, date.value()); }

/// All links of a route: who has the right of way on one does not depend on whether it can be the bottleneck.
std::vector<std::uint32_t> numbers_of(const std::vector<LinkId>& links) {
  std::vector<std::uint32_t> numbers;
  for (LinkId link : links) numbers.push_back(link.value());
  return numbers;
}

}  // namespace

ReplayClock::ReplayClock(const Platform& platform, const Events& events)
    : network_(*this), ways_(platform, events, network_) {}

void ReplayClock::run(Executor& executor) {
  executor_ = &executor;
  executor.begin();
  happen_until(now_);
  network_.run();
}

void ReplayClock::push(Seconds at, What what, std::uint64_t number, std::uint32_t generation) {
  if (at < kNever) heap_.push({std::max(at, now_), next_order_++, number, generation, what});
}

void ReplayClock::complete_at(Start start, Seconds at) { push(at, What::Complete, start.op.value(), start.generation); }
void ReplayClock::wake_at(std::uint64_t token, Seconds at) { push(at, What::Wake, token, 0); }

void ReplayClock::start_transfer(Start start, const Op& op) {
  const Way& way = ways_.between(op.from, op.to);
  const Seconds end_alone = now_ + (way.latency + op.bytes / way.narrowest);
  if (way.shared.empty() || op.bytes == Bytes(0)) {
    complete_at(start, end_alone);
    return;
  }
  Transfer& transfer = add_transfer();
  transfer.state = Transfer::State::Latency;
  transfer.rests = false;
  transfer.transfer_class = op.transfer_class;
  transfer.start = start;
  transfer.left = static_cast<double>(op.bytes.value());
  transfer.end_alone = end_alone;
  transfer.narrowest = way.narrowest;
  transfer.way = &way;
  const std::uint32_t number = number_of(transfer);
  push(now_ + way.latency, What::LatencyPaid, number, transfer.serial);
  if (op.transfer_class != 0 && !has_classes_) {
    enter_classes();
  } else if (has_classes_) {
    right_of_way_.enter(number, op.transfer_class, numbers_of(way.links), changes_);
    apply_changes();
  }
}

ReplayClock::Transfer& ReplayClock::add_transfer() {
  if (free_.empty()) return transfers_.emplace_back();
  Transfer& transfer = transfers_[free_.back()];
  free_.pop_back();
  return transfer;
}

std::uint32_t ReplayClock::number_of(const Transfer& transfer) const {
  return static_cast<std::uint32_t>(&transfer - transfers_.data());
}

/// The first transfer of another class than 0: from now on there is something to give way to.
void ReplayClock::enter_classes() {
  has_classes_ = true;
  for (const Transfer& transfer : transfers_) {
    if (transfer.state == Transfer::State::Free) continue;
    right_of_way_.enter(number_of(transfer), transfer.transfer_class, numbers_of(transfer.way->links), changes_);
  }
  apply_changes();
}

void ReplayClock::apply_changes() {
  for (const RightOfWay::Change& change : changes_) {
    Transfer& transfer = transfers_[change.transfer];
    if (transfer.rests == !change.moves) continue;
    transfer.rests = !change.moves;
    if (transfer.state == Transfer::State::Waiting) {
      start_flow(transfer);
    } else if (transfer.state == Transfer::State::Alone && !is_ending(transfer)) {
      enter_network(transfer);  // which lets it rest
    } else if (transfer.state == Transfer::State::Flowing && transfer.rests) {
      network_.suspend(transfer.flow);
    } else if (transfer.state == Transfer::State::Flowing) {
      network_.resume(transfer.flow);
    }
  }
  changes_.clear();
}

/// Whether a transfer alone on its links ends now, as far as dates can tell.
bool ReplayClock::is_ending(const Transfer& transfer) const {
  return (transfer.end_alone - now_).value() <= date_noise(now_);
}

/// The first byte leaves. Whoever had one of the links to itself has company from now on.
void ReplayClock::start_flow(Transfer& transfer) {
  bool has_company = false;
  for (std::uint32_t link : transfer.way->shared) {
    if (link >= uses_.size()) uses_.resize(link + 1);
    const std::uint32_t other = uses_[link].alone;
    if (other != kNobody && !is_ending(transfers_[other])) enter_network(transfers_[other]);
    has_company = has_company || uses_[link].flows > 0;
  }
  if (has_company) {
    enter_network(transfer);
  } else {
    stay_alone(transfer);
  }
}

void ReplayClock::stay_alone(Transfer& transfer) {
  if (transfer.state == Transfer::State::Waiting || transfer.narrowest != transfer.way->narrowest) {
    transfer.narrowest = transfer.way->narrowest;
    transfer.end_alone = now_ + Seconds(transfer.left / transfer.narrowest.value());
  }
  transfer.state = Transfer::State::Alone;
  const std::uint32_t number = number_of(transfer);
  for (std::uint32_t link : transfer.way->shared) uses_[link].alone = number;
  push(transfer.end_alone, What::LastByte, number, transfer.serial);
}

/// What is left of the transfer becomes a flow of the network.
void ReplayClock::enter_network(Transfer& transfer) {
  if (transfer.state == Transfer::State::Alone) {
    leave_links(transfer);
    transfer.left = (transfer.end_alone - now_).value() * transfer.narrowest.value();
  }
  if (!has_met_) prepare_network();
  for (std::uint32_t link : transfer.way->shared) ++uses_[link].flows;
  transfer.state = Transfer::State::Entering;
  if (now_ > network_at_) {
    entering_.emplace_back(number_of(transfer), transfer.serial);
  } else {
    flow(transfer);
  }
}

/// Two transfers meet for the first time: those under way tell what the network has to expect.
void ReplayClock::prepare_network() {
  has_met_ = true;
  std::vector<std::span<const std::uint32_t>> routes;
  for (const Transfer& transfer : transfers_) {
    if (transfer.state != Transfer::State::Free) routes.emplace_back(transfer.way->shared);
  }
  if (is_dense(routes)) network_.expect_dense_traffic();
}

void ReplayClock::flow(Transfer& transfer) {
  transfer.state = Transfer::State::Flowing;
  transfer.flow = network_.start(transfer.way->shared, transfer.left);
  if (transfer.flow >= transfer_of_.size()) transfer_of_.resize(transfer.flow + 1);
  transfer_of_[transfer.flow] = number_of(transfer);
  if (transfer.rests) network_.suspend(transfer.flow);
}

void ReplayClock::leave_links(const Transfer& transfer) {
  const std::uint32_t number = number_of(transfer);
  const bool in_network = transfer.state == Transfer::State::Entering || transfer.state == Transfer::State::Flowing;
  for (std::uint32_t link : transfer.way->shared) {
    if (in_network) {
      --uses_[link].flows;
    } else if (link < uses_.size() && uses_[link].alone == number) {
      uses_[link].alone = kNobody;
    }
  }
}

void ReplayClock::leave(Transfer& transfer) {
  leave_links(transfer);
  transfer.state = Transfer::State::Free;
  ++transfer.serial;
  free_.push_back(number_of(transfer));
  if (!has_classes_) return;
  right_of_way_.leave(number_of(transfer), changes_);
  apply_changes();
}

void ReplayClock::abort_transfer(Start start) {
  for (Transfer& transfer : transfers_) {
    if (transfer.state == Transfer::State::Free || transfer.start.op != start.op) continue;
    if (transfer.state == Transfer::State::Flowing) network_.cancel(transfer.flow);
    leave(transfer);
    return;
  }
}

/// The network knows how a flow goes on when a link changes, so what is alone on this link enters it.
void ReplayClock::set_bandwidth(LinkId link, BytesPerSecond bandwidth) {
  for (Transfer& transfer : transfers_) {
    if (transfer.state != Transfer::State::Alone || is_ending(transfer)) continue;
    if (std::ranges::find(transfer.way->links, link) != transfer.way->links.end()) enter_network(transfer);
  }
  ways_.set_bandwidth(link, bandwidth);
}

void ReplayClock::on_flow_end(std::uint32_t flow) {
  Transfer& transfer = transfers_[transfer_of_[flow]];
  const Start start = transfer.start;
  Seconds end = network_.now();
  if (std::abs((end - transfer.end_alone).value()) <= date_noise(end)) end = transfer.end_alone;
  leave(transfer);
  if (end > network_.now() && executor_->is_contested()) {  // with all else that happens at that very instant
    complete_at(start, end);
    return;
  }
  now_ = std::max(now_, end);
  network_at_ = now_;
  executor_->complete(start);
}

void ReplayClock::on_alarm() {
  const Seconds alarm = alarms_.back();
  alarms_.pop_back();
  if (alarm < now_) {  // the heap went ahead while the network was empty
    set_alarm();
    return;
  }
  network_at_ = std::max(alarm, network_.now());
  for (const auto& [number, serial] : std::exchange(entering_, {})) {
    if (transfers_[number].serial == serial) flow(transfers_[number]);
  }
  happen_until(network_at_);
}

void ReplayClock::on_settled() {
  executor_->dispatch();
  happen_until(now_);
}

/// Lets all dates up to `end` happen, one after the other, and later ones as long as the network is empty. Flows that
/// end at this instant are still to come when the alarm rings; they join the last date, and `on_settled` goes on from
/// there.
void ReplayClock::happen_until(Seconds end) {
  while (!heap_.empty() && (heap_.top().at <= end || (network_.is_empty() && entering_.empty()))) {
    const Seconds at = heap_.top().at;
    now_ = std::max(now_, at);
    while (!heap_.empty() && heap_.top().at == at) {
      const Instant instant = heap_.top();
      heap_.pop();
      happen(instant);
    }
    if (network_.has_unreported()) return;
    executor_->dispatch();
  }
  set_alarm();
}

void ReplayClock::happen(const Instant& instant) {
  switch (instant.what) {
    case What::Complete: executor_->complete({OpId(instant.number), instant.generation}); break;
    case What::Wake: executor_->wake(instant.number); break;
    case What::LatencyPaid: {
      Transfer& transfer = transfers_[instant.number];
      if (transfer.state != Transfer::State::Latency || transfer.serial != instant.generation) break;
      if (transfer.rests) {
        transfer.state = Transfer::State::Waiting;
      } else {
        start_flow(transfer);
      }
      break;
    }
    case What::LastByte: {
      Transfer& transfer = transfers_[instant.number];
      if (transfer.state != Transfer::State::Alone || transfer.serial != instant.generation) break;
      const Start start = transfer.start;
      leave(transfer);
      executor_->complete(start);
      break;
    }
  }
}

void ReplayClock::set_alarm() {
  if (heap_.empty() && entering_.empty()) return;
  const Seconds next = entering_.empty() ? heap_.top().at : now_;
  if (!alarms_.empty() && alarms_.back() <= next) return;
  alarms_.push_back(next);
  network_.set_alarm(next);
}

}  // namespace stagecraft
