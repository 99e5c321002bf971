#include "sim/engine/place_pairs.hpp"

namespace stagecraft {

std::uint32_t PlacePairs::number_of(const Op& transfer) {
  const std::uint64_t key = route_key(transfer);
  if (key == last_key_) return last_;
  const auto [found, is_new] = index_.try_emplace(key, static_cast<std::uint32_t>(items_.size()));
  if (is_new) items_.push_back({transfer.from, transfer.to, transfer.leg});
  last_key_ = key;
  last_ = found->second;
  return last_;
}

}  // namespace stagecraft
