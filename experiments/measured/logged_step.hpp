#pragma once

#include "sim/io/megatron_flags.hpp"
#include "sim/io/megatron_log.hpp"

#include <string>
#include <vector>

namespace stagecraft {

/// What a row of a table of measured steps has that no log says, as it is to stand there.
struct LoggedNames {
  std::string name;
  std::string model;
  std::string network;   ///< the model as it is found here: a path, or a known name
  std::string platform;  ///< empty: left open
  std::string source;
};

/// The columns of the rows that `logged_step` makes.
[[nodiscard]] const std::vector<std::string>& logged_columns();

/// A row, and what is told of it.
struct LoggedStep {
  std::vector<std::string> fields;
  std::vector<std::string> notes;
};

/// The row of a run of Megatron-LM with such flags, whose iterations took `times`. Its network is `logged_network`.
/// **Throws** InputError, at the flag or the line of the log, for a run that is not of the network, and for one that no
/// row can say: ranks that nobody tells, recomputation other than of attention or of all blocks one by one, other ways
/// to attend in context groups, experts with a capacity, orders of ranks or microbatches that are not the usual ones,
/// and a batch that the log contradicts.
[[nodiscard]] LoggedStep logged_step(MegatronFlags flags, const MegatronLog& log, const LoggedTimes& times,
                                     const LoggedNames& names);

}  // namespace stagecraft
