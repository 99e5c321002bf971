#include "sim/analytic/shared_ends.hpp"

#include "sim/base/error.hpp"
#include "sim/model/bandwidths.hpp"

#include <algorithm>
#include <cstddef>
#include <limits>
#include <map>
#include <optional>

namespace stagecraft {
namespace {

constexpr double kInfinite = std::numeric_limits<double>::infinity();
constexpr double kRounding = 1e-12;  ///< of rates, and of dates, that are equal

struct Flow {
  std::vector<std::size_t> links;  ///< in `Fluid::bandwidths_`
  double begin = 0.0;              ///< of its bytes
  double left = 0.0;               ///< bytes
  double rate = 0.0;
  std::optional<double> end;
};

/// Lets flows run from one begin or end to the next.
class Fluid {
 public:
  explicit Fluid(const Platform& platform) : platform_(platform) {}

  void add(const TimedTransfer& transfer) {
    Route route;
    STAGECRAFT_CHECK(find_route(platform_, transfer.from, transfer.to, route), "a transfer's places are connected");
    Flow flow;
    flow.begin = (transfer.start + route.latency).value();
    flow.left = static_cast<double>(transfer.bytes.value());
    std::optional<BytesPerSecond> alone;  // what an exclusive link allows
    for (LinkId id : route.links) {
      const Link& link = platform_.links[id];
      if (link.sharing == Sharing::Exclusive) {
        alone = std::min(alone.value_or(link.bandwidth), link.bandwidth);
      } else {
        flow.links.push_back(number_of(id));
      }
    }
    if (alone) flow.links.push_back(add_link(*alone));
    if (flow.links.empty() || flow.left <= 0.0) flow.end = flow.begin;
    flows_.push_back(std::move(flow));
  }

  [[nodiscard]] std::vector<Seconds> ends() {
    double now = 0.0;
    for (;;) {
      const std::vector<Flow*> flowing = at(now);
      share(flowing);
      double next = kInfinite;
      for (const Flow& flow : flows_) {
        if (!flow.end && flow.begin > now) next = std::min(next, flow.begin);
      }
      for (const Flow* flow : flowing) next = std::min(next, now + flow->left / flow->rate);
      if (next == kInfinite) break;
      for (Flow* flow : flowing) {
        if (now + flow->left / flow->rate <= next * (1.0 + kRounding)) flow->end = next;
        flow->left -= flow->rate * (next - now);
      }
      now = next;
    }
    std::vector<Seconds> ends;
    for (const Flow& flow : flows_) ends.emplace_back(*flow.end);
    return ends;
  }

 private:
  std::size_t add_link(BytesPerSecond bandwidth) {
    bandwidths_.push_back(bandwidth.value());
    return bandwidths_.size() - 1;
  }

  std::size_t number_of(LinkId link) {
    const auto found = numbers_.find(link);
    if (found != numbers_.end()) return found->second;
    return numbers_[link] = add_link(platform_.links[link].bandwidth);
  }

  [[nodiscard]] std::vector<Flow*> at(double now) {
    std::vector<Flow*> flowing;
    for (Flow& flow : flows_) {
      if (!flow.end && flow.begin <= now) flowing.push_back(&flow);
    }
    return flowing;
  }

  /// Progressive filling: the links that have least for each of their undecided flows decide theirs.
  void share(std::vector<Flow*> flows) const {
    std::vector<double> free = bandwidths_;
    while (!flows.empty()) {
      std::vector<double> wanted(free.size());
      for (const Flow* flow : flows) {
        for (std::size_t link : flow->links) ++wanted[link];
      }
      double least = kInfinite;
      for (std::size_t link = 0; link < free.size(); ++link) {
        if (wanted[link] > 0.0) least = std::min(least, free[link] / wanted[link]);
      }
      const std::vector<double> left = free;
      std::erase_if(flows, [&](Flow* flow) {
        const bool is_decided = std::ranges::any_of(
            flow->links, [&](std::size_t link) { return left[link] / wanted[link] <= least * (1.0 + kRounding); });
        if (!is_decided) return false;
        flow->rate = least;
        for (std::size_t link : flow->links) free[link] -= least;
        return true;
      });
    }
  }

  const Platform& platform_;
  std::vector<double> bandwidths_;
  std::map<LinkId, std::size_t> numbers_;
  std::vector<Flow> flows_;
};

}  // namespace

std::vector<Seconds> shared_ends(const Platform& platform, const std::vector<TimedTransfer>& transfers) {
  Fluid fluid(platform);
  for (const TimedTransfer& transfer : transfers) fluid.add(transfer);
  return fluid.ends();
}

}  // namespace stagecraft
