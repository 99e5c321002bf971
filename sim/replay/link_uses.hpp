#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <vector>

namespace stagecraft {

/// The use of each network link: by one transfer that has it to itself, or by flows.
class LinkUses {
 public:
  static constexpr std::uint32_t kNobody = std::numeric_limits<std::uint32_t>::max();

  /// The transfer that has the link to itself, or `kNobody`.
  [[nodiscard]] std::uint32_t alone_on(std::uint32_t link) const {
    return link < uses_.size() ? uses_[link].alone : kNobody;
  }
  /// Whether flows cross the link; those that rest or are about to enter the network count.
  [[nodiscard]] bool has_flows(std::uint32_t link) const { return link < uses_.size() && uses_[link].flows > 0; }

  void take_alone(std::span<const std::uint32_t> links, std::uint32_t transfer) {
    for (std::uint32_t link : links) at(link).alone = transfer;
  }
  /// The transfer gives up those of the links that it still has to itself.
  void leave_alone(std::span<const std::uint32_t> links, std::uint32_t transfer) {
    for (std::uint32_t link : links) {
      if (alone_on(link) == transfer) uses_[link].alone = kNobody;
    }
  }
  void add_flow(std::span<const std::uint32_t> links) {
    for (std::uint32_t link : links) ++at(link).flows;
  }
  void remove_flow(std::span<const std::uint32_t> links) {
    for (std::uint32_t link : links) --at(link).flows;
  }

 private:
  struct Use {
    std::uint32_t alone = kNobody;
    std::uint32_t flows = 0;
  };
  [[nodiscard]] Use& at(std::uint32_t link) {
    if (link >= uses_.size()) uses_.resize(link + 1);
    return uses_[link];
  }

  std::vector<Use> uses_;  ///< by network link
};

}  // namespace stagecraft
