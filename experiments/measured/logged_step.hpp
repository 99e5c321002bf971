#pragma once

#include "sim/io/megatron_flags.hpp"
#include "sim/io/megatron_log.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace stagecraft {

/// What a row of a table of measured steps has that no log says, as it is to stand there.
struct LoggedNames {
  std::string name;
  std::string model;
  std::string platform;  ///< empty: left open
  std::string source;
};

/// The columns of the rows that `logged_step` makes.
[[nodiscard]] const std::vector<std::string>& logged_columns();

/// The fields of a row for a run of Megatron-LM with such flags, whose iterations took `times`.
/// **Throws** InputError, at the flag or the line of the log, for a run that no row can say: ranks that nobody tells,
/// recomputation other than of attention or of all blocks one by one, other ways to attend in context groups, experts
/// with a capacity, orders of ranks or microbatches that are not the usual ones, and a batch that the log contradicts.
[[nodiscard]] std::vector<std::string> logged_step(MegatronFlags flags, const MegatronLog& log,
                                                   const LoggedTimes& times, const LoggedNames& names);

}  // namespace stagecraft
