#pragma once

#include "sim/engine/clock.hpp"

#include <cstdint>
#include <unordered_map>
#include <vector>

namespace stagecraft {

/// Something that is to be handled at a later instant.
struct Wake {
  enum class Kind : std::uint8_t { Event, NotBefore, Departure, Recovery, LinkRecovery, Question } kind = Kind::Event;
  std::uint64_t what = 0;  ///< event, operation, device or link; nothing for a question
  friend bool operator==(const Wake&, const Wake&) = default;
};

/// The wakes that have been set. The clock knows each of them by a token.
class Wakes {
 public:
  /// `clock` must outlive the wakes.
  explicit Wakes(Clock& clock) : clock_(clock) {}

  void put_off(const Wake& wake, Seconds until);
  /// The clock has reached the token's instant.
  void ring(std::uint64_t token) { rung_.push_back(token); }
  [[nodiscard]] bool have_rung() const { return !rung_.empty(); }
  /// Returns the wakes that have rung since the last call, in the order in which they were set.
  [[nodiscard]] std::vector<Wake> take_rung();

 private:
  Clock& clock_;
  std::unordered_map<std::uint64_t, Wake> wakes_;  ///< by token
  std::vector<std::uint64_t> rung_;                ///< tokens
  std::uint64_t next_token_ = 0;
};

}  // namespace stagecraft
