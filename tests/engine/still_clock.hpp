#pragma once

#include "sim/engine/clock.hpp"

#include <cstdint>
#include <utility>
#include <vector>

namespace stagecraft::testing {

/// A clock that a test sets by hand, and that remembers what it was asked for.
class StillClock final : public Clock {
 public:
  struct End {
    OpId op;
    std::uint32_t generation = 0;
    Seconds at;
    friend bool operator==(const End&, const End&) = default;
  };

  [[nodiscard]] Seconds now() const override { return time; }
  void complete_at(Start start, Seconds at) override { ends.push_back({start.op, start.generation, at}); }
  void wake_at(std::uint64_t token, Seconds at) override { wakes.emplace_back(token, at); }
  void start_transfer(Start, const Op&, Seconds) override {}
  void abort_transfer(Start start) override { aborted.push_back(start.op); }
  void set_bandwidth(LinkId link, BytesPerSecond) override { changed.push_back(link); }
  void set_down(LinkId link, bool is_down) override { turned.emplace_back(link, is_down); }

  Seconds time;
  std::vector<End> ends;
  std::vector<std::pair<std::uint64_t, Seconds>> wakes;
  std::vector<OpId> aborted;
  std::vector<LinkId> changed;
  std::vector<std::pair<LinkId, bool>> turned;  ///< links, and whether each is down from then on
};

}  // namespace stagecraft::testing
