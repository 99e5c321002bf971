#include "sim/schedule/ring_packing.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

namespace stagecraft {
namespace {

constexpr std::int64_t kSteps = 20'000;  ///< members that the search appends; under a millisecond

/// Takes ring after ring from what is left of the widths. The rings do not decrease in the order of their members, so
/// that each set of rings is tried once.
class Search {
 public:
  Search(RingWidths widths, std::size_t most) : left_(std::move(widths)), most_(std::min(most, rings_left())) {}

  std::vector<RingOrder> run() {
    next_ring();
    return best_;
  }

 private:
  /// No more rings than half the width that is left at any member.
  [[nodiscard]] std::size_t rings_left() const {
    std::int64_t least = std::reduce(left_.front().begin(), left_.front().end());
    for (const auto& row : left_) least = std::min(least, std::reduce(row.begin(), row.end()));
    return static_cast<std::size_t>(least / 2);
  }

  [[nodiscard]] bool has_ended() const { return best_.size() == most_ || steps_ > kSteps; }

  void next_ring() {
    if (rings_.size() > best_.size()) best_ = rings_;
    if (has_ended() || rings_.size() + rings_left() <= best_.size()) return;
    RingOrder path{0};
    std::vector<bool> is_passed(left_.size());
    is_passed[0] = true;
    extend(path, is_passed, !rings_.empty());
  }

  /// Tries all ends of a path; `as_before`: so far it is the ring taken last, and must not become less.
  void extend(RingOrder& path, std::vector<bool>& is_passed, bool as_before) {
    if (path.size() == left_.size()) {
      if (path[1] < path.back() && left_[path.back()][0] > 0) take(path);
      return;
    }
    const std::size_t first = as_before ? rings_.back()[path.size()] : 1;
    for (std::size_t next = first; next < left_.size() && !has_ended(); ++next) {
      if (is_passed[next] || left_[path.back()][next] == 0) continue;
      ++steps_;
      path.push_back(next);
      is_passed[next] = true;
      extend(path, is_passed, as_before && next == first);
      is_passed[next] = false;
      path.pop_back();
    }
  }

  void take(const RingOrder& ring) {
    use(ring, 1);
    rings_.push_back(ring);
    next_ring();
    rings_.pop_back();
    use(ring, -1);
  }

  void use(const RingOrder& ring, std::int64_t times) {
    for (std::size_t i = 0; i < ring.size(); ++i) {
      const std::size_t next = ring[(i + 1) % ring.size()];
      left_[ring[i]][next] -= times;
      left_[next][ring[i]] -= times;
    }
  }

  RingWidths left_;
  std::size_t most_;
  std::vector<RingOrder> rings_;
  std::vector<RingOrder> best_;
  std::int64_t steps_ = 0;
};

}  // namespace

std::vector<RingOrder> pack_rings(const RingWidths& widths, std::size_t most) { return Search(widths, most).run(); }

}  // namespace stagecraft
