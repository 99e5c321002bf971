#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <span>
#include <tuple>
#include <vector>

namespace stagecraft {

/// Decides which transfers are suspended: a transfer rests while a transfer of a smaller class moves over a link of its
/// route. A resting transfer uses no link, so it holds up no other transfer.
class RightOfWay {
 public:
  /// A transfer that from now on moves, or from now on rests.
  struct Change {
    std::uint32_t transfer = 0;
    bool moves = false;
    friend bool operator==(const Change&, const Change&) = default;
  };

  /// A transfer enters. Appends to `changes` whether it moves, then the transfers that rest or move again because of
  /// it.
  void enter(std::uint32_t transfer, std::uint8_t transfer_class, std::span<const std::uint32_t> links,
             std::vector<Change>& changes);
  /// A transfer leaves. Appends to `changes` the transfers that move again or rest because of that.
  void leave(std::uint32_t transfer, std::vector<Change>& changes);

 private:
  struct Entry {
    std::uint8_t transfer_class = 0;
    std::uint64_t order = 0;
    std::vector<std::uint32_t> links;
    bool moves = false;
  };
  struct LinkUse {
    std::map<std::uint8_t, std::uint32_t> moving;  ///< number of moving transfers, by class
    std::set<std::uint32_t> transfers;             ///< all transfers over the link, moving or resting
  };
  using Affected = std::set<std::tuple<std::uint8_t, std::uint64_t, std::uint32_t>>;  ///< class, order, transfer

  [[nodiscard]] bool may_move(const Entry& entry) const;
  void set_moving(Entry& entry, bool moves, Affected& affected);
  void settle(Affected& affected, std::vector<Change>& changes);

  std::map<std::uint32_t, Entry> entries_;
  std::map<std::uint32_t, LinkUse> links_;
  std::uint64_t next_order_ = 0;
};

}  // namespace stagecraft
