#include "sim/replay/shared_transfers.hpp"

#include "sim/model/timeline.hpp"
#include "sim/replay/density.hpp"

#include <algorithm>
#include <span>

namespace stagecraft {
namespace {

/// The numbers of all links of a route, also of those that are left out of the network: a transfer gives way on any
/// link, whether or not that link can be a bottleneck.
std::vector<std::uint32_t> numbers_of(const std::vector<LinkId>& links) {
  std::vector<std::uint32_t> numbers;
  for (LinkId link : links) numbers.push_back(link.value());
  return numbers;
}

}  // namespace

void SharedTransfers::start(Start start, const Op& op, const Way& way, Seconds latency, Seconds end_alone) {
  Transfer& transfer = transfers_.add();
  transfer.state = Transfer::State::Latency;
  transfer.rests = false;
  transfer.stopped_at.reset();
  transfer.transfer_class = op.transfer_class;
  transfer.start = start;
  transfer.left = static_cast<double>(op.bytes.value());
  transfer.first_byte = agenda_.now() + latency;
  transfer.end_alone = end_alone;
  transfer.narrowest = way.narrowest;
  transfer.way = &way;
  if (is_stopped(way)) {
    stop(transfer);
    return;
  }
  agenda_.add(transfer.first_byte, Appointment::What::LatencyPaid, transfer.number, transfer.serial);
  if (has_classes_ || op.transfer_class != 0) give_way(transfer);
}

/// Applies the classes of transfers. Classes are tracked only from the first transfer on whose class is not 0; then all
/// transfers under way are entered that are not stopped.
void SharedTransfers::give_way(const Transfer& newcomer) {
  if (has_classes_) {
    enter_right_of_way(newcomer);
  } else {
    has_classes_ = true;
    for (const Transfer& transfer : transfers_.places()) {
      if (transfer.state != Transfer::State::Free && !transfer.stopped_at) enter_right_of_way(transfer);
    }
  }
  apply_changes();
}

void SharedTransfers::stop(Transfer& transfer) {
  transfer.stopped_at = agenda_.now();
  if (transfer.state == Transfer::State::Latency) {
    transfer.state = Transfer::State::Held;
    ++transfer.serial;  // which voids its appointment
  }
  changes_.push_back({transfer.number, false});
  if (has_classes_) right_of_way_.leave(transfer.number, changes_);
  apply_changes();
}

void SharedTransfers::go_on(Transfer& transfer) {
  const Seconds pause = agenda_.now() - *transfer.stopped_at;
  transfer.stopped_at.reset();
  transfer.first_byte += pause;
  transfer.end_alone += pause;
  if (transfer.state == Transfer::State::Held) {
    transfer.state = Transfer::State::Latency;
    agenda_.add(transfer.first_byte, Appointment::What::LatencyPaid, transfer.number, transfer.serial);
  }
  if (has_classes_ || transfer.transfer_class != 0) {
    give_way(transfer);
  } else {
    changes_.push_back({transfer.number, true});
    apply_changes();
  }
}

bool SharedTransfers::is_stopped(const Way& way) const {
  return !down_.empty() && std::ranges::any_of(way.links, [&](LinkId link) { return down_.contains(link); });
}

void SharedTransfers::set_down(LinkId link, bool is_down) {
  if (is_down) {
    down_.insert(link);
  } else {
    down_.erase(link);
  }
  for (Transfer& transfer : transfers_.places()) {
    if (transfer.state == Transfer::State::Free || is_stopped(*transfer.way) == transfer.stopped_at.has_value())
      continue;
    if (transfer.stopped_at) {
      go_on(transfer);
    } else if (transfer.state != Transfer::State::Alone || !is_ending(transfer)) {
      stop(transfer);
    }
  }
}

void SharedTransfers::enter_right_of_way(const Transfer& transfer) {
  right_of_way_.enter(transfer.number, transfer.transfer_class, numbers_of(transfer.way->links), changes_);
}

void SharedTransfers::apply_changes() {
  for (const RightOfWay::Change& change : changes_) {
    Transfer& transfer = transfers_[change.transfer];
    if (transfer.rests == !change.moves) continue;
    transfer.rests = !change.moves;
    if (transfer.state == Transfer::State::Waiting) {
      start_flow(transfer);
    } else if (transfer.state == Transfer::State::Alone && !is_ending(transfer)) {
      enter_network(transfer);  // the network can suspend it
    } else if (transfer.state == Transfer::State::Flowing && transfer.rests) {
      network_.suspend(transfer.flow);
    } else if (transfer.state == Transfer::State::Flowing) {
      network_.resume(transfer.flow);
    }
  }
  changes_.clear();
}

/// Whether a transfer that is alone on its links ends now, up to rounding of dates.
bool SharedTransfers::is_ending(const Transfer& transfer) const {
  return transfer.end_alone - agenda_.now() <= date_noise(agenda_.now());
}

void SharedTransfers::pay_latency(const Appointment& appointment) {
  Transfer* transfer = transfers_.find(appointment.number, appointment.generation, Transfer::State::Latency);
  if (transfer == nullptr) return;
  if (transfer->rests) {
    transfer->state = Transfer::State::Waiting;
  } else {
    start_flow(*transfer);
  }
}

/// The first byte leaves. A transfer that had one of the links to itself now shares it, so it enters the network.
void SharedTransfers::start_flow(Transfer& transfer) {
  bool has_company = false;
  for (std::uint32_t link : transfer.way->shared) {
    const std::uint32_t other = uses_.alone_on(link);
    if (other != LinkUses::kNobody && !is_ending(transfers_[other])) enter_network(transfers_[other]);
    has_company = has_company || uses_.has_flows(link);
  }
  if (has_company && transfer.left > 0.0) {
    enter_network(transfer);
  } else {
    stay_alone(transfer);
  }
}

void SharedTransfers::stay_alone(Transfer& transfer) {
  if (transfer.state == Transfer::State::Waiting || transfer.narrowest != transfer.way->narrowest) {
    transfer.narrowest = transfer.way->narrowest;
    transfer.end_alone = agenda_.now() + Seconds(transfer.left / transfer.narrowest.value());
  }
  transfer.state = Transfer::State::Alone;
  uses_.take_alone(transfer.way->shared, transfer.number);
  agenda_.add(transfer.end_alone, Appointment::What::LastByte, transfer.number, transfer.serial);
}

/// The transfer becomes a flow of the network, with its remaining bytes. If the network's time is behind, the flow
/// starts when it has caught up.
void SharedTransfers::enter_network(Transfer& transfer) {
  if (transfer.state == Transfer::State::Alone) {
    uses_.leave_alone(transfer.way->shared, transfer.number);
    transfer.left = (transfer.end_alone - agenda_.now()).value() * transfer.narrowest.value();
  }
  if (!have_met_) expect_meetings();
  uses_.add_flow(transfer.way->shared);
  transfer.state = Transfer::State::Entering;
  if (agenda_.now() > network_at_) {
    entering_.emplace_back(transfer.number, transfer.serial);
  } else {
    flow(transfer);
  }
}

/// Two transfers share a link for the first time. The transfers under way show whether the traffic is dense.
void SharedTransfers::expect_meetings() {
  have_met_ = true;
  std::vector<std::span<const std::uint32_t>> routes;
  for (const Transfer& transfer : transfers_.places()) {
    if (transfer.state != Transfer::State::Free) routes.emplace_back(transfer.way->shared);
  }
  if (is_dense(routes)) network_.expect_dense_traffic();
}

void SharedTransfers::flow(Transfer& transfer) {
  transfer.state = Transfer::State::Flowing;
  transfer.flow = network_.start(transfer.way->shared, transfer.left);
  if (transfer.flow >= transfer_of_.size()) transfer_of_.resize(transfer.flow + 1);
  transfer_of_[transfer.flow] = transfer.number;
  if (transfer.rests) network_.suspend(transfer.flow);
}

void SharedTransfers::let_enter() {
  for (const auto& [number, serial] : std::exchange(entering_, {})) {
    if (transfers_[number].serial == serial) flow(transfers_[number]);
  }
}

std::optional<Start> SharedTransfers::end_alone(const Appointment& appointment) {
  Transfer* transfer = transfers_.find(appointment.number, appointment.generation, Transfer::State::Alone);
  if (transfer == nullptr) return std::nullopt;
  const Start start = transfer->start;
  leave(*transfer);
  return start;
}

std::pair<Start, Seconds> SharedTransfers::end_flow(std::uint32_t flow) {
  Transfer& transfer = transfers_[transfer_of_[flow]];
  const std::pair<Start, Seconds> end(transfer.start, transfer.end_alone);
  leave(transfer);
  return end;
}

void SharedTransfers::leave(Transfer& transfer) {
  if (transfer.is_in_network()) {
    uses_.remove_flow(transfer.way->shared);
  } else {
    uses_.leave_alone(transfer.way->shared, transfer.number);
  }
  const std::uint32_t number = transfer.number;
  transfers_.remove(transfer);
  if (!has_classes_) return;
  right_of_way_.leave(number, changes_);
  apply_changes();
}

void SharedTransfers::abort(OpId op) {
  for (Transfer& transfer : transfers_.places()) {
    if (transfer.state == Transfer::State::Free || transfer.start.op != op) continue;
    if (transfer.state == Transfer::State::Flowing) network_.cancel(transfer.flow);
    leave(transfer);
    return;
  }
}

void SharedTransfers::prepare_change(LinkId link) {
  for (Transfer& transfer : transfers_.places()) {
    if (transfer.state != Transfer::State::Alone || is_ending(transfer)) continue;
    if (std::ranges::find(transfer.way->links, link) != transfer.way->links.end()) enter_network(transfer);
  }
}

}  // namespace stagecraft
