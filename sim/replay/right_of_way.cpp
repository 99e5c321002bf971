#include "sim/replay/right_of_way.hpp"

#include <algorithm>
#include <utility>

namespace stagecraft {

bool RightOfWay::may_move(const Entry& entry) const {
  return std::ranges::none_of(entry.links, [&](std::uint32_t link) {
    const auto& moving = links_.at(link).moving;
    return !moving.empty() && moving.begin()->first < entry.transfer_class;
  });
}

/// Updates the links' counts. Where the first transfer of a class moves or the last one rests, enters the transfers of
/// larger classes into `affected`.
void RightOfWay::set_moving(Entry& entry, bool moves, Affected& affected) {
  entry.moves = moves;
  for (std::uint32_t link : entry.links) {
    LinkUse& use = links_[link];
    std::uint32_t& moving = use.moving[entry.transfer_class];
    moving = moves ? moving + 1 : moving - 1;
    if (moving != (moves ? 1 : 0)) continue;
    if (!moves) use.moving.erase(entry.transfer_class);
    for (std::uint32_t other : use.transfers) {
      const Entry& there = entries_.at(other);
      if (there.transfer_class > entry.transfer_class) affected.insert({there.transfer_class, there.order, other});
    }
  }
}

/// Decides for all affected transfers whether they move. A change affects only larger classes, so each transfer is
/// decided once if the smallest class is taken first.
void RightOfWay::settle(Affected& affected, std::vector<Change>& changes) {
  while (!affected.empty()) {
    const std::uint32_t transfer = std::get<2>(*affected.begin());
    affected.erase(affected.begin());
    Entry& entry = entries_.at(transfer);
    const bool moves = may_move(entry);
    if (moves == entry.moves) continue;
    changes.push_back({transfer, moves});
    set_moving(entry, moves, affected);
  }
}

void RightOfWay::enter(std::uint32_t transfer, std::uint8_t transfer_class, std::span<const std::uint32_t> links,
                       std::vector<Change>& changes) {
  Entry& entry = entries_[transfer];
  entry = {transfer_class, next_order_++, {links.begin(), links.end()}, false};
  for (std::uint32_t link : links) links_[link].transfers.insert(transfer);
  Affected affected;
  const bool moves = may_move(entry);
  changes.push_back({transfer, moves});
  if (moves) set_moving(entry, true, affected);
  settle(affected, changes);
}

void RightOfWay::leave(std::uint32_t transfer, std::vector<Change>& changes) {
  const auto found = entries_.find(transfer);
  if (found == entries_.end()) return;
  Affected affected;
  for (std::uint32_t link : found->second.links) links_[link].transfers.erase(transfer);
  if (found->second.moves) set_moving(found->second, false, affected);
  entries_.erase(found);
  settle(affected, changes);
}

}  // namespace stagecraft
