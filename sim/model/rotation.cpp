#include "sim/model/rotation.hpp"

#include <algorithm>
#include <numeric>
#include <tuple>

namespace stagecraft {

Rotation::Rotation(const std::vector<std::int64_t>& shares) {
  std::int64_t common = 0;
  for (const std::int64_t share : shares) common = std::gcd(common, share);
  round_ = std::accumulate(shares.begin(), shares.end(), std::int64_t{0}) / common;
  if (round_ == std::ssize(shares)) return;
  // The middle of the k-th of s turns, as a part of the round, is (2 k + 1) / (2 s).
  std::vector<std::tuple<double, std::uint32_t>> wanted;
  for (std::size_t owner = 0; owner < shares.size(); ++owner) {
    const std::int64_t share = shares[owner] / common;
    for (std::int64_t k = 0; k < share; ++k) {
      const double middle = static_cast<double>(2 * k + 1) / static_cast<double>(2 * share);
      wanted.emplace_back(middle, static_cast<std::uint32_t>(owner));
    }
  }
  std::ranges::sort(wanted);
  own_.resize(shares.size());
  for (const auto& [middle, owner] : wanted) {
    own_[owner].push_back(static_cast<std::uint32_t>(owner_.size()));
    owner_.push_back(owner);
  }
}

std::int64_t Rotation::count_by_shares(std::uint32_t owner, std::int64_t turns) const {
  const std::vector<std::uint32_t>& own = own_[owner];
  const auto before = std::ranges::lower_bound(own, turns % round_) - own.begin();
  return turns / round_ * std::ssize(own) + before;
}

}  // namespace stagecraft
