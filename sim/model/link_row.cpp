#include "sim/model/link_row.hpp"

namespace stagecraft {

LinkNames up_and_down(const std::string& base, const std::string& both) { return {base + ".up", base + ".down", both}; }

LinkNames between(const std::string& a, const std::string& b) { return {a + "->" + b, b + "->" + a, a + "<->" + b}; }

LinkRow begin_row(const Platform& platform, const LinkSpec& spec) {
  return {LinkId(platform.links.size()), spec.duplex == Duplex::Half};
}

void add_link(Platform& platform, const LinkSpec& spec, const LinkNames& names, const LoadLimits& limits) {
  const auto add = [&](const std::string& name, BytesPerSecond limit) {
    platform.links.push_back({name, spec.bandwidth, spec.latency, spec.sharing, limit});
  };
  if (spec.duplex == Duplex::Half) {
    add(names.both, limits.forward + limits.backward);
  } else {
    add(names.forward, limits.forward);
    add(names.backward, limits.backward);
  }
}

}  // namespace stagecraft
