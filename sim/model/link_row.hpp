#pragma once

#include "sim/model/platform.hpp"

#include <limits>
#include <string>

namespace stagecraft {

// How `build_platform` and `find_route` write and read rows of links. Nothing else uses this header.

inline constexpr BytesPerSecond kNoLimit{std::numeric_limits<double>::infinity()};

/// The names of a link's two directions, and the name of a half-duplex link, which is a single `Link`.
struct LinkNames {
  std::string forward;
  std::string backward;
  std::string both;
};

/// `gpu0.up`, `gpu0.down`, and `gpu0.link` or the name that `both` gives.
[[nodiscard]] LinkNames up_and_down(const std::string& base, const std::string& both);

/// `a->b`, `b->a`, `a<->b`.
[[nodiscard]] LinkNames between(const std::string& a, const std::string& b);

/// The most that can load each direction of a link (see `Link::load_limit`).
struct LoadLimits {
  BytesPerSecond forward = kNoLimit;
  BytesPerSecond backward = kNoLimit;
};

/// The row that the next links of this spec will make.
[[nodiscard]] LinkRow begin_row(const Platform& platform, const LinkSpec& spec);

void add_link(Platform& platform, const LinkSpec& spec, const LinkNames& names, const LoadLimits& limits = {});

/// Appends a link to a route.
inline void cross(const Platform& platform, LinkId link, Route& into) {
  into.links.push_back(link);
  into.latency += platform.links[link].latency;
}

/// Position of the pair a < b among all pairs of n, in lexicographic order.
[[nodiscard]] constexpr std::uint32_t pair_index(std::uint32_t a, std::uint32_t b, std::uint32_t n) {
  const auto skipped = std::uint64_t{a} * (2 * std::uint64_t{n} - a - 1) / 2;
  return static_cast<std::uint32_t>(skipped + (b - a - 1));
}

/// Crosses the link of a pair from a row over all pairs of n.
inline void cross_pair(const Platform& platform, const LinkRow& row, std::uint32_t from, std::uint32_t to,
                       std::uint32_t n, Route& into) {
  cross(platform, from < to ? row.forward(pair_index(from, to, n)) : row.backward(pair_index(to, from, n)), into);
}

/// Which way round a ring of n is shorter: forward for two equal ones. **Requires** from != to.
[[nodiscard]] constexpr bool is_forward_shorter(std::uint32_t from, std::uint32_t to, std::uint32_t n) {
  const std::uint32_t ahead = to > from ? to - from : to + n - from;
  return ahead <= n - ahead;
}

[[nodiscard]] constexpr std::uint32_t divide_up(std::uint32_t a, std::uint32_t b) { return (a + b - 1) / b; }

}  // namespace stagecraft
