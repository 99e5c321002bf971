#pragma once

#include "sim/base/error.hpp"
#include "sim/base/quantity.hpp"
#include "sim/io/megatron_flags.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace stagecraft {

/// A line of a log that tells the mean time of the iterations since the line before.
struct LoggedIterations {
  std::int64_t last = 0;              ///< number of the last of them, from 1
  Seconds time;                       ///< of one
  std::optional<std::int64_t> batch;  ///< samples of an iteration
  std::int64_t skipped = 0;           ///< iterations without an update
  InputPlace place;                   ///< of the time
};

/// What is read of a log of Megatron-LM.
struct MegatronLog {
  std::vector<LoggedIterations> lines;       ///< by increasing numbers
  std::optional<MegatronFlags> arguments;    ///< those at its head that say something about a plan
  std::optional<MegatronFlags::Flag> words;  ///< `--padded-vocab-size`, as the line of the padded vocabulary says it
};

/// Reads the log of one run: the lines ` iteration N/ M | … elapsed time per iteration (ms): T | …`, wherever in a line
/// they begin, the list of arguments before them, and ` > padded vocab (size: N) … (new size: M)`. Where T is followed
/// by `/` and a mean, the first is read.
/// An argument that is `None`, `False` or what Megatron-LM has without its flag is no flag.
/// **Throws** InputError at its place for such a line without number or time, for numbers that do not increase, and
/// for a log without such lines.
/// **Source** NVIDIA, Megatron-LM, megatron/training/training.py and megatron/training/arguments.py.
[[nodiscard]] MegatronLog parse_megatron_log(std::string_view text, const std::string& file_name);

/// The times of the iterations behind a warm-up.
struct LoggedTimes {
  Seconds median;
  std::int64_t lines = 0;           ///< of the log that tell them
  double relative_deviation = 0.0;  ///< standard deviation of these lines over their mean; 0 for one
};

/// Leaves out the lines with one of the first `warmup` iterations of the log, and those with iterations without an
/// update. **Throws** InputError, at the last line, if no line is left.
[[nodiscard]] LoggedTimes measured_times(const MegatronLog& log, std::int64_t warmup);

}  // namespace stagecraft
