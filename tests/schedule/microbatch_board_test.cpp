#include "sim/schedule/microbatch_board.hpp"

#include "tests/random_cases.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <random>
#include <vector>

namespace stagecraft {
namespace {

/// The first operations of the microbatches of a board, of which those before `begin` are finished.
struct Reference {
  std::map<std::int64_t, OpId> first;
  std::vector<char> finished;

  [[nodiscard]] std::int64_t begin() const { return std::ranges::find(finished, char{0}) - finished.begin(); }
  [[nodiscard]] OpId oldest() const {
    OpId oldest = OpId::none();
    for (auto live = first.lower_bound(begin()); live != first.end(); ++live) oldest = std::min(oldest, live->second);
    return oldest;
  }
};

}  // namespace

TEST_CASE(
    "microbatch board: its oldest operation is the least that a microbatch from the first unfinished one on has") {
  std::mt19937 random(11);
  for (int trial = 0; trial < testing::random_cases(100); ++trial) {
    constexpr std::int64_t kMicrobatches = 40;
    MicrobatchBoard board({1, 1, 0});
    Reference reference{{}, std::vector<char>(kMicrobatches)};
    std::uint32_t next = 0;
    std::vector<std::int64_t> arrivals;
    for (std::int64_t index = 0; index < kMicrobatches; ++index) arrivals.push_back(index);
    for (auto at = arrivals.begin(); at + 4 < arrivals.end(); ++at) std::shuffle(at, at + 4, random);
    std::vector<std::int64_t> in_flight;
    while (!arrivals.empty() || !in_flight.empty()) {
      const bool starts = in_flight.empty() || (!arrivals.empty() && random() % 2 == 0);
      if (starts) {
        const std::int64_t index = arrivals.front();
        arrivals.erase(arrivals.begin());
        reference.first[index] = OpId(next);
        board.arrive_forward(index, OpId(next++));
        board.note_forward(index, OpId(next++));
        in_flight.push_back(index);
      } else {
        const auto ended = in_flight.begin() + static_cast<std::ptrdiff_t>(random() % in_flight.size());
        board.arrive_backward(*ended, OpId(next++));
        board.finish(*ended);
        reference.finished[static_cast<std::size_t>(*ended)] = 1;
        in_flight.erase(ended);
      }
      CHECK(board.oldest() == reference.oldest());
    }
    CHECK(board.oldest().is_none());
  }
}

}  // namespace stagecraft
