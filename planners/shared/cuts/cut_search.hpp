#pragma once

#include "planners/shared/costs/chain.hpp"
#include "planners/shared/costs/crossings.hpp"
#include "sim/base/ticks.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <numeric>
#include <optional>
#include <utility>
#include <vector>

namespace stagecraft {

/// Labels that are kept of one state. Only graphs in which the tensors of many layers branch far come near it.
inline constexpr std::size_t kMostLabels = 256;

/// Contiguous cuts, found by a dynamic program from the last layer to the first. A `Rule` says what a cut is judged by:
///   Value            compared with <; what the stages and cuts behind a position come to
///   Value start()    of no stages
///   Ticks longest    the largest load of a stage or a cut
///   Value join(Value behind, Ticks load)         adds a stage or a cut; grows with `behind`
///   int64 in_flight(Value, size_t devices)       of a stage that has just been joined; grows with both
///   bool takes_later                             whether a cut found later replaces one that is equal
///
/// The label of a partition of the layers [l, L) into stages on q devices has its value, and its charges: what the
/// tensors made before l send to these stages, which their producers have to hold. A label with a value and charges no
/// larger than another's, on no more devices, can do all that the other one can: then the other is dropped. On a chain
/// there are no charges, and one label is left for each (l, q). The loop over l goes down from L. When it comes to l,
/// the labels of l are final; each is then extended by a stage [k, l) for all k < l, if it fits.
///
/// The answer is exact unless some state has more than `kMostLabels` labels; then those with the largest values and
/// charges go.
/// **Cost** O(layers² · devices · labels of a state).
template <class Rule>
class CutSearch {
 public:
  CutSearch(const Chain& chain, Bytes capacity)
      : chain_(chain),
        capacity_(capacity),
        devices_(std::min<std::size_t>(chain.device_count(), chain.size())),
        states_((chain.size() + 1) * (devices_ + 1)),
        is_plain_(is_plain_chain(chain.crossings())),
        walk_(chain.crossings()) {}

  /// Fills the table for a rule.
  void run(const Rule& rule) {
    for (std::vector<Label>& labels : states_) labels.clear();
    const std::size_t layers = chain_.size();
    at(layers, 0).push_back({rule.start(), layers, 0, {}});
    for (std::size_t l = layers; l > 0; --l) {
      find_front(l, rule);
      if (!front_.empty()) extend(l, rule);
    }
  }

  [[nodiscard]] std::size_t most_devices() const { return devices_; }
  /// The value of the best cut into stages on that many devices.
  [[nodiscard]] std::optional<typename Rule::Value> value(std::size_t devices) const {
    const std::vector<Label>& labels = states_[devices];
    return labels.empty() ? std::nullopt : std::optional(labels.front().value);
  }
  /// **Requires** that there is one.
  [[nodiscard]] std::vector<ChainStage> stages(std::size_t devices) const {
    std::vector<ChainStage> result;
    std::size_t index = 0;
    for (std::size_t begin = 0, left = devices; left > 0; --left) {
      const Label& label = states_[begin * (devices_ + 1) + left][index];
      result.push_back({begin, label.end, static_cast<std::uint32_t>(result.size())});
      begin = label.end;
      index = label.parent;
    }
    return result;
  }
  /// Whether labels were dropped in some run because a state had too many.
  [[nodiscard]] bool has_dropped() const { return has_dropped_; }

 private:
  using Value = typename Rule::Value;
  struct Label {
    Value value;
    std::size_t end = 0;     // of the first stage
    std::size_t parent = 0;  // position of the label that it extends, in the state of `end`
    Charges charges;
  };
  /// A label that is being extended.
  struct Entry {
    Value value;
    std::size_t devices = 0;
    std::size_t index = 0;
    const Charges* charges = nullptr;
    Bytes sent;  // by the stage to those behind it
  };

  std::vector<Label>& at(std::size_t layer, std::size_t devices) { return states_[layer * (devices_ + 1) + devices]; }

  static bool is_no_more(const Charges& a, const Charges& b) { return std::ranges::equal(a, b, std::less_equal<>()); }

  [[nodiscard]] bool is_dominated(const Label& label) const {
    // Without charges the values of the front fall, so its last label decides.
    const std::size_t first = label.charges.empty() && !front_.empty() ? front_.size() - 1 : 0;
    return std::any_of(front_.begin() + static_cast<std::ptrdiff_t>(first), front_.end(), [&](const Entry& entry) {
      return !(label.value < entry.value) && is_no_more(*entry.charges, label.charges);
    });
  }

  /// Whether the devices that `q` leave can carry the load of the layers before l.
  [[nodiscard]] bool may_complete(std::size_t l, std::size_t q, const Rule& rule) const {
    return l == 0 || (chain_.load(0, l) - 1) / rule.longest < static_cast<Ticks>(devices_ - q);
  }

  /// The last k before l from where some label of l, extended by [k, l), may lead to a complete cut.
  [[nodiscard]] std::size_t last_useful(std::size_t l, const Rule& rule) const {
    std::size_t useful = 0;
    for (std::size_t beyond = l; useful + 1 < beyond;) {
      const std::size_t middle = useful + (beyond - useful) / 2;
      (may_complete(middle, front_.front().devices + 1, rule) ? useful : beyond) = middle;
    }
    return useful;
  }

  /// Collects the labels of l that may lead to a complete cut: at least one device is left, the devices that are left
  /// can carry the load of the layers before l, and no label on fewer devices dominates.
  void find_front(std::size_t l, const Rule& rule) {
    front_.clear();
    for (std::size_t q = 0; q < devices_ && may_complete(l, q, rule); ++q) {
      const std::vector<Label>& labels = at(l, q);
      for (std::size_t i = 0; i < labels.size(); ++i) {
        if (!is_dominated(labels[i])) front_.push_back({labels[i].value, q, i, &labels[i].charges, Bytes(0)});
      }
    }
  }

  /// Extends the labels of `find_front` by a stage [k, l), for all k < l. The stage's load only grows as k falls, and
  /// so does its memory without what it receives; the loop ends when nothing longer can fit. On a plain chain only the
  /// last layer sends, so it goes on where k is useful.
  void extend(std::size_t l, const Rule& rule) {
    const std::size_t useful = is_plain_ ? last_useful(l, rule) : l;
    walk_.restart(l);
    for (std::size_t k = l; k-- > 0;) {
      walk_.prepend();
      if (chain_.load(k, l) > rule.longest) return;
      Bytes last(-1);
      std::int64_t most = 0;
      const auto most_in_flight = [&](Bytes exchanged) {
        if (exchanged != last) most = chain_.most_in_flight(k, l, chain_.buffers(exchanged), capacity_);
        last = exchanged;
        return most;
      };
      std::erase_if(front_, [&](Entry& entry) {
        entry.sent += walk_.sent_by_first(*entry.charges);
        return most_in_flight(entry.sent) == 0;
      });
      if (front_.empty()) return;
      if (k > useful) {
        k = useful + 1;
        walk_.skip_to(k);
        continue;
      }
      if (k > 0 && (chain_.cut_load(k) > rule.longest || chain_.transfer(k) >= kLongestTransfer)) continue;
      extend_by(k, l, rule, most_in_flight);
    }
  }

  /// Extends the labels of the front by the stage [k, l), at which `most_in_flight` microbatches fit with what is
  /// exchanged.
  void extend_by(std::size_t k, std::size_t l, const Rule& rule, const auto& most_in_flight) {
    for (const Entry& entry : front_) {
      Value value = rule.join(entry.value, chain_.load(k, l));
      const Bytes exchanged = k > 0 ? entry.sent + walk_.received() : entry.sent;
      if (rule.in_flight(value, entry.devices + 1) > most_in_flight(exchanged)) continue;
      if (k > 0) value = rule.join(value, chain_.cut_load(k));
      insert(at(k, entry.devices + 1), {value, l, entry.index, walk_.charges(*entry.charges)}, rule);
    }
  }

  void insert(std::vector<Label>& labels, Label label, const Rule& rule) {
    for (Label& other : labels) {
      if (label.value < other.value || !is_no_more(other.charges, label.charges)) continue;
      const bool is_equal = !(other.value < label.value) && other.charges == label.charges;
      if (is_equal && rule.takes_later) other = std::move(label);
      return;
    }
    std::erase_if(labels, [&](const Label& other) {
      return !(other.value < label.value) && is_no_more(label.charges, other.charges);
    });
    labels.push_back(std::move(label));
    if (labels.size() <= kMostLabels) return;
    labels.erase(std::ranges::max_element(labels, [](const Label& a, const Label& b) {
      if (a.value < b.value || b.value < a.value) return a.value < b.value;
      return std::accumulate(a.charges.begin(), a.charges.end(), Bytes(0)) <
             std::accumulate(b.charges.begin(), b.charges.end(), Bytes(0));
    }));
    has_dropped_ = true;
  }

  const Chain& chain_;
  Bytes capacity_;
  std::size_t devices_;
  std::vector<std::vector<Label>> states_;  // [layer * (devices + 1) + devices used]
  std::vector<Entry> front_;                // devices ascending
  bool is_plain_;
  StageWalk walk_;
  bool has_dropped_ = false;
};

}  // namespace stagecraft
