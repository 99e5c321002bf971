#include "sim/schedule/fixed/dual_order.hpp"

#include "sim/schedule/fixed/device_order.hpp"

#include <cstddef>

namespace stagecraft {
namespace {

constexpr std::size_t kFirst = 0;
constexpr std::size_t kOther = 1;

class DualOrder {
 public:
  explicit DualOrder(const DualDevice& device) : device_(device) {}

  std::vector<Action> made() {
    const std::int64_t inside = device_.depth + 1;
    const std::int64_t outside = device_.turn - inside;
    repeat(2 * outside, [&] { forward(kFirst); });
    repeat(inside, [&] {
      forward(kFirst);
      forward(kOther);
    });
    repeat(outside, [&] {
      input(kOther);
      order_.oldest_weight();
      forward(kOther);
    });
    run_steady(outside == 0);
    repeat(outside, [&] {
      backward(kOther);
      pair(kOther, kFirst);
    });
    std::int64_t whole = inside;  // the first half of the backwards
    repeat(inside, [&] {
      for (const std::size_t stage : {kOther, kFirst}) whole-- > 0 ? backward(stage) : input(stage);
    });
    repeat(outside, [&] {
      order_.oldest_weight();
      input(kFirst);
    });
    while (order_.has_pending()) order_.oldest_weight();
    return order_.take();
  }

 private:
  template <class Step>
  static void repeat(std::int64_t times, const Step& step) {
    for (std::int64_t i = 0; i < times; ++i) step();
  }

  /// Where the two directions meet, the first backward needs the forward before it, so they are no pair.
  void run_steady(bool begins_apart) {
    for (std::int64_t i = 0; i < device_.steady; ++i) {
      if (i == 0 && begins_apart) {
        forward(kFirst);
        backward(kOther);
      } else {
        pair(kFirst, kOther);
      }
      pair(kOther, kFirst);
    }
  }

  void forward(std::size_t stage) { order_.forward(device_.stages.at(stage), forwards_.at(stage)++); }
  void backward(std::size_t stage) { order_.backward(device_.stages.at(stage), backwards_.at(stage)++); }
  void input(std::size_t stage) { order_.input(device_.stages.at(stage), backwards_.at(stage)++); }
  void pair(std::size_t forth, std::size_t back) {
    forward(forth);
    backward(back);
    order_.join();
  }

  DualDevice device_;
  DeviceOrderWriter order_;
  std::array<std::int64_t, 2> forwards_{};  ///< by stage: the next microbatch
  std::array<std::int64_t, 2> backwards_{};
};

}  // namespace

std::vector<Action> dual_order(const DualDevice& device) { return DualOrder(device).made(); }

}  // namespace stagecraft
