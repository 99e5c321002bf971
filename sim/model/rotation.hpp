#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace stagecraft {

/// Who takes which turn. Turns repeat in rounds. In a round each owner has as many turns as its share says, spread as
/// evenly as whole turns can be: with shares 2 and 1 the order is 0, 1, 0; with equal shares it is 0, 1, 2, ….
class Rotation {
 public:
  /// Equal shares. **Requires** at least one owner.
  explicit Rotation(std::int64_t owners = 1) : round_(owners) {}
  /// Shares by owner, of which only the proportions matter. **Requires** at least one, each at least 1.
  /// **Cost** O(r log r) with r turns in a round.
  explicit Rotation(const std::vector<std::int64_t>& shares);

  /// Turns in a round.
  [[nodiscard]] std::int64_t round() const { return round_; }
  /// The owner's turns in a round.
  [[nodiscard]] std::int64_t share(std::uint32_t owner) const { return own_.empty() ? 1 : std::ssize(own_[owner]); }

  [[nodiscard]] std::uint32_t owner(std::int64_t turn) const {
    const std::int64_t at = round_ == 1 ? 0 : turn % round_;
    return own_.empty() ? static_cast<std::uint32_t>(at) : owner_[static_cast<std::size_t>(at)];
  }
  /// How many of the first `turns` are the owner's. Of a turn of its own, this is the number among its own, from 0.
  [[nodiscard]] std::int64_t count(std::uint32_t owner, std::int64_t turns) const {
    if (round_ == 1) return turns;
    return own_.empty() ? (turns + round_ - 1 - owner) / round_ : count_by_shares(owner, turns);
  }
  /// The turn that the owner counts as `number`.
  [[nodiscard]] std::int64_t turn(std::uint32_t owner, std::int64_t number) const {
    if (own_.empty()) return number * round_ + (round_ == 1 ? 0 : owner);
    const std::int64_t share = std::ssize(own_[owner]);
    return number / share * round_ + own_[owner][static_cast<std::size_t>(number % share)];
  }

 private:
  [[nodiscard]] std::int64_t count_by_shares(std::uint32_t owner, std::int64_t turns) const;

  std::int64_t round_ = 1;
  std::vector<std::uint32_t> owner_;             ///< by turn of a round; empty for equal shares
  std::vector<std::vector<std::uint32_t>> own_;  ///< by owner: its turns of a round, increasing; empty for equal shares
};

}  // namespace stagecraft
