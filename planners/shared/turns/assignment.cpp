#include "planners/shared/turns/assignment.hpp"

#include <algorithm>
#include <limits>

namespace stagecraft {
namespace {

constexpr std::size_t kNobody = static_cast<std::size_t>(-1);

/// Keeps `cost(i, j) >= item_price[i] + place_price[j]`, with equality wherever items lie.
class CheapestAssignment {
 public:
  explicit CheapestAssignment(const Assignment& problem)
      : problem_(problem),
        left_(problem.places),
        item_price_(problem.items.size()),
        place_price_(problem.places.size()),
        put_(problem.costs.size()) {}

  std::vector<std::int64_t> run() {
    for (std::size_t item = 0; item < problem_.items.size(); ++item) {
      for (std::int64_t left = problem_.items[item]; left > 0;) left -= put(item, left);
    }
    return std::move(put_);
  }

 private:
  [[nodiscard]] std::int64_t& put_at(std::size_t item, std::size_t place) {
    return put_[item * place_price_.size() + place];
  }

  /// Brings up to `most` items of the kind to places along one path, on which items of other kinds give way. Returns
  /// how many.
  std::int64_t put(std::size_t item, std::int64_t most) {
    const std::size_t last = find_path(item);
    std::int64_t amount = std::min(most, left_[last]);
    for (std::size_t place = last; reached_by_[place] != item;) {
      const std::size_t other = reached_by_[place];
      place = gives_way_from_[other];
      amount = std::min(amount, put_at(other, place));
    }
    left_[last] -= amount;
    for (std::size_t place = last;;) {
      const std::size_t by = reached_by_[place];
      put_at(by, place) += amount;
      if (by == item) return amount;
      place = gives_way_from_[by];
      put_at(by, place) -= amount;
    }
  }

  /// Returns the nearest kind of place that is not full; fills in how it is reached, and adapts the prices.
  std::size_t find_path(std::size_t item) {
    slack_.assign(place_price_.size(), std::numeric_limits<std::int64_t>::max());
    reached_by_.assign(place_price_.size(), kNobody);
    gives_way_from_.assign(item_price_.size(), kNobody);
    items_.assign(1, item);
    places_.clear();
    is_visited_.assign(place_price_.size(), 0);
    relax(item);
    for (;;) {
      const std::size_t nearest = visit_nearest();
      if (left_[nearest] > 0) return nearest;
      for (std::size_t other = 0; other < item_price_.size(); ++other) {
        if (put_at(other, nearest) == 0 || other == item || gives_way_from_[other] != kNobody) continue;
        gives_way_from_[other] = nearest;
        items_.push_back(other);
        relax(other);
      }
    }
  }

  /// Lowers the slack of places by what can be reached from this kind of item.
  void relax(std::size_t item) {
    for (std::size_t place = 0; place < slack_.size(); ++place) {
      if (is_visited_[place] != 0) continue;
      const std::int64_t slack = problem_.cost(item, place) - item_price_[item] - place_price_[place];
      if (slack >= slack_[place]) continue;
      slack_[place] = slack;
      reached_by_[place] = item;
    }
  }

  std::size_t visit_nearest() {
    std::size_t nearest = kNobody;
    for (std::size_t place = 0; place < slack_.size(); ++place) {
      if (is_visited_[place] == 0 && (nearest == kNobody || slack_[place] < slack_[nearest])) nearest = place;
    }
    const std::int64_t distance = slack_[nearest];
    for (std::size_t item : items_) item_price_[item] += distance;
    for (std::size_t place : places_) place_price_[place] -= distance;
    for (std::size_t place = 0; place < slack_.size(); ++place) {
      if (is_visited_[place] == 0) slack_[place] -= distance;
    }
    is_visited_[nearest] = 1;
    places_.push_back(nearest);
    return nearest;
  }

  const Assignment& problem_;
  std::vector<std::int64_t> left_;  ///< free places, by kind
  std::vector<std::int64_t> item_price_;
  std::vector<std::int64_t> place_price_;
  std::vector<std::int64_t> put_;
  // Of the search for one path:
  std::vector<std::int64_t> slack_;
  std::vector<std::size_t> reached_by_;      ///< by kind of place: the kind of item that comes to it
  std::vector<std::size_t> gives_way_from_;  ///< by kind of item: the kind of place that it leaves
  std::vector<std::size_t> items_;           ///< kinds that are on paths
  std::vector<std::size_t> places_;
  std::vector<char> is_visited_;
};

}  // namespace

std::vector<std::int64_t> cheapest_assignment(const Assignment& problem) { return CheapestAssignment(problem).run(); }

}  // namespace stagecraft
