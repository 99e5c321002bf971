#pragma once

#include "sim/io/megatron_flags.hpp"
#include "sim/io/megatron_run.hpp"

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

/// What a user is told of a run: the flags of which nothing is used, those `not_compared` with a network
/// (`compare_network`) among them, and an overlap that a plan has otherwise.
/// **Requires** the flags from which the rest was read.
[[nodiscard]] std::vector<std::string> megatron_notes(const MegatronRun& run, const MegatronFlags& flags,
                                                      const UnreadFlags& unread,
                                                      const std::vector<std::string>& not_compared);

}  // namespace stagecraft
