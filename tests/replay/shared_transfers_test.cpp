// Transfers that never meet: SimGrid is not started.
#include "sim/replay/shared_transfers.hpp"

#include "sim/base/child_process.hpp"

#include <doctest/doctest.h>

#include <optional>

using namespace stagecraft;

namespace {

/// A network with two links of one byte per second and nobody who listens.
struct Yard final : NetworkListener {
  void on_alarm() override {}
  void on_flow_end(std::uint32_t) override {}
  void on_settled() override {}

  /// Starts a transfer of so many bytes over both links, or only the second.
  void start(std::uint64_t op, double bytes, const Way& way, std::uint8_t transfer_class = 0) {
    Op what;
    what.kind = OpKind::Activation;
    what.transfer_class = transfer_class;
    what.bytes = Bytes(static_cast<std::int64_t>(bytes));
    transfers.start({OpId(op), 0}, what, way, way.latency, agenda.now() + way.latency + Seconds(bytes));
  }
  /// Lets the next date happen; returns the operation that ends by it.
  std::optional<OpId> step() {
    const Appointment next = agenda.take();
    agenda.advance(next.at);
    if (next.what == Appointment::What::LatencyPaid) {
      transfers.pay_latency(next);
      return std::nullopt;
    }
    const auto ended = transfers.end_alone(next);
    return ended ? std::optional(ended->op) : std::nullopt;
  }

  Agenda agenda;
  FlowNetwork network{*this};
  SharedTransfers transfers{network, agenda};
  std::uint32_t first = network.add_link(BytesPerSecond(1));
  std::uint32_t second = network.add_link(BytesPerSecond(1));
  Way both{Seconds(2), BytesPerSecond(1), {LinkId(0), LinkId(1)}, {first, second}};
  Way one{Seconds(0), BytesPerSecond(1), {LinkId(1)}, {second}};
};

}  // namespace

TEST_CASE("shared transfers: one that has its links to itself ends after latency and bytes, without a network") {
  Yard yard;
  yard.start(5, 3, yard.both);
  CHECK(yard.step() == std::nullopt);  // the latency is paid
  CHECK(yard.agenda.now() == Seconds(2));
  CHECK(yard.step() == OpId(5));
  CHECK(yard.agenda.now() == Seconds(5));
  CHECK(yard.network.is_empty());
}

TEST_CASE("shared transfers: two that use a link one after the other do not meet") {
  Yard yard;
  yard.start(0, 2, yard.one);  // its last byte at 2, when the other's first byte leaves
  yard.start(1, 3, yard.both);
  yard.step();
  yard.step();
  CHECK(yard.step() == OpId(0));
  CHECK(yard.step() == OpId(1));
  CHECK(yard.agenda.now() == Seconds(5));
  CHECK(yard.network.is_empty());
}

TEST_CASE("shared transfers: one that is aborted does not end, and its links are free") {
  Yard yard;
  yard.start(0, 9, yard.one);
  yard.step();
  yard.transfers.abort(OpId(0));
  yard.start(1, 1, yard.one);
  yard.step();
  CHECK(yard.step() == OpId(1));
  CHECK(yard.step() == std::nullopt);  // the date of the aborted one
  CHECK(yard.agenda.is_empty());
}

// The second's latency is paid at 2, but it rests until the first, whose class is smaller, has ended at 4.
TEST_CASE("shared transfers: a larger class sends its first byte when the way is free") {
  Yard yard;
  yard.start(0, 4, yard.one, 0);
  yard.start(1, 3, yard.both, 1);
  yard.step();
  yard.step();
  CHECK(yard.step() == OpId(0));
  CHECK(yard.step() == OpId(1));
  CHECK(yard.agenda.now() == Seconds(7));
}

TEST_CASE("shared transfers: those that meet become flows, with what is left of them") {
  ChildProcess child([&](FrameSender& sender) {  // which starts SimGrid
    Yard yard;
    yard.start(0, 6, yard.one);
    yard.start(1, 3, yard.both);
    yard.step();
    yard.step();
    sender.send(0, yard.transfers.are_entering() ? "they wait for the network" : "they are there");
    yard.transfers.set_network_time(yard.agenda.now());
    yard.transfers.let_enter();
    sender.send(0, yard.network.is_empty() ? "nobody flows" : "they flow");
    const auto [start, end_alone] = yard.transfers.end_flow(0);
    sender.send(0, start.op == OpId(0) && end_alone == Seconds(6) ? "the first ends" : "another ends");
  });
  CHECK(child.receive().value().bytes == "they wait for the network");
  CHECK(child.receive().value().bytes == "they flow");
  CHECK(child.receive().value().bytes == "the first ends");
}
