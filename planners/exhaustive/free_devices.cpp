#include "planners/exhaustive/free_devices.hpp"

#include <algorithm>

namespace stagecraft::exhaustive {
namespace {

/// Enters in `after` what nodes owe after a stage.
class Debts {
 public:
  Debts(const std::vector<NodeRuns>& nodes, const FreeDevices& before, FreeDevices& after)
      : nodes_(nodes), before_(before), after_(after) {}

  void enter() {
    std::size_t run = 0;
    Use last;
    for (std::size_t node = 0; node < nodes_.size(); ++node) {
      const Use use = use_of(nodes_[node], run);
      if (nodes_[node].is_like_last) after_.owes[node] = owes(before_.owes[node] != 0, last, use) ? 1 : 0;
      last = use;
      run += nodes_[node].sizes.size();
    }
  }

 private:
  struct Use {
    bool is_now = false;   ///< by this stage
    bool is_ever = false;  ///< by this or an earlier one
  };

  [[nodiscard]] Use use_of(const NodeRuns& node, std::size_t run) const {
    Use use;
    for (std::size_t i = 0; i < node.sizes.size(); ++i) {
      use.is_now = use.is_now || after_.left[run + i] < before_.left[run + i];
      use.is_ever = use.is_ever || after_.left[run + i] < node.sizes[i];
    }
    return use;
  }

  static bool owes(bool owed, const Use& last, const Use& own) {
    if (last.is_now && own.is_now) return false;
    return owed || (own.is_ever && !last.is_ever);
  }

  const std::vector<NodeRuns>& nodes_;
  const FreeDevices& before_;
  FreeDevices& after_;
};

}  // namespace

std::vector<NodeRuns> in_platform_order(const Platform& platform) { return {{{platform.devices.size()}, false}}; }

FreeDevices all_free(const std::vector<NodeRuns>& nodes) {
  FreeDevices free;
  for (const NodeRuns& node : nodes) free.left.insert(free.left.end(), node.sizes.begin(), node.sizes.end());
  free.owes.assign(nodes.size(), 0);
  return free;
}

bool may_stay(const FreeDevices& free) { return std::ranges::count(free.owes, 1) == 0; }

void for_each_choice(const std::vector<NodeRuns>& nodes, const FreeDevices& free, std::size_t replicas,
                     const std::function<void(const FreeDevices&)>& use) {
  FreeDevices after = free;
  const std::function<void(std::size_t, std::size_t)> take = [&](std::size_t run, std::size_t wanted) {
    if (run == free.left.size()) {
      if (wanted > 0) return;
      Debts(nodes, free, after).enter();
      use(after);
      return;
    }
    const bool is_last = run + 1 == free.left.size();
    for (std::size_t count = std::min(wanted, free.left[run]);; --count) {
      after.left[run] = free.left[run] - count;
      take(run + 1, wanted - count);
      if (count == 0 || is_last) break;
    }
    after.left[run] = free.left[run];
  };
  take(0, replicas);
}

std::vector<DeviceId> taken(const std::vector<NodeRuns>& nodes, const FreeDevices& before, const FreeDevices& after) {
  std::vector<DeviceId> devices;
  std::size_t run = 0;
  std::size_t end = 0;  // of the run
  for (const NodeRuns& node : nodes) {
    for (const std::size_t size : node.sizes) {
      end += size;
      for (std::size_t left = before.left[run]; left > after.left[run]; --left) devices.emplace_back(end - left);
      ++run;
    }
  }
  return devices;
}

}  // namespace stagecraft::exhaustive
