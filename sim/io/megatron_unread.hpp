#pragma once

#include "sim/io/megatron_flags.hpp"

#include <string>
#include <vector>

namespace stagecraft {

/// The flags that nobody has taken, with `--`, in their order.
struct UnreadFlags {
  std::vector<std::string> without_effect;  ///< they change neither time nor memory
  std::vector<std::string> not_modelled;    ///< they change time or memory
  std::vector<std::string> of_network;      ///< they say what form the network has
  std::vector<std::string> unknown;         ///< in none of the tables
  friend bool operator==(const UnreadFlags&, const UnreadFlags&) = default;
};

/// **Throws** InputError for an unknown one that seems to mean a flag that was asked for.
[[nodiscard]] UnreadFlags unread_flags(const MegatronFlags& flags);

}  // namespace stagecraft
