#include "sim/replay/agenda.hpp"

#include <doctest/doctest.h>

using namespace stagecraft;

TEST_CASE("agenda: dates come in their order, equal ones as they were added, and a past one is now") {
  using What = Appointment::What;
  Agenda agenda;
  agenda.advance(Seconds(2));
  agenda.add(Seconds(5), What::Complete, 1, 0);
  agenda.add(Seconds(5), What::Wake, 2, 0);
  agenda.add(Seconds(1), What::LatencyPaid, 3, 7);
  CHECK(agenda.next() == Seconds(2));
  const Appointment first = agenda.take();
  CHECK(first.number == 3);
  CHECK(first.generation == 7);
  CHECK(agenda.take().what == What::Complete);
  CHECK(agenda.take().what == What::Wake);
  CHECK(agenda.is_empty());
}

TEST_CASE("agenda: what never happens is no date, and time does not go back") {
  Agenda agenda;
  agenda.add(kNever, Appointment::What::Complete, 1, 0);
  CHECK(agenda.is_empty());
  agenda.advance(Seconds(3));
  agenda.advance(Seconds(1));
  CHECK(agenda.now() == Seconds(3));
}
