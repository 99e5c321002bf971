#pragma once

#include "planners/planner.hpp"
#include "sim/base/quantity.hpp"
#include "sim/model/schedule_choice.hpp"
#include "sim/model/training_choice.hpp"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace stagecraft {

// Functions that read the value of an option. All throw InputError, which names the option, what was expected and what
// was found.

/// A whole number of `least` to `most`.
[[nodiscard]] std::int64_t read_count_option(const std::string& option, const std::string& text, std::int64_t least,
                                             std::int64_t most);
/// The same, or none if the option is not given. An empty text counts as given.
[[nodiscard]] std::optional<std::int64_t> read_count_option(const std::string& option,
                                                            const std::optional<std::string>& text, std::int64_t least,
                                                            std::int64_t most);

/// A time of more than zero, with its unit, up to `most`.
[[nodiscard]] Seconds read_time_option(const std::string& option, const std::string& text, Seconds most);

/// A bandwidth, with its unit, as a link may have it: 1 Bps to 1000000 TBps.
[[nodiscard]] BytesPerSecond read_bandwidth_option(const std::string& option, const std::string& text);

/// A size of more than zero, with its unit.
[[nodiscard]] Bytes read_size_option(const std::string& option, const std::string& text);

/// Returns `text`, which has to be one of the known names.
[[nodiscard]] std::string read_choice_option(const std::string& option, const std::string& text,
                                             const std::vector<std::string>& known);

/// A name that may be written to files: not empty, and without control characters.
[[nodiscard]] std::string read_name_option(const std::string& option, const std::string& text);

/// `a=b` as (a, b), split at the first `=`.
[[nodiscard]] std::pair<std::string, std::string> read_assignment(const std::string& option, const std::string& text);

/// One pair for each text; a key that comes twice is refused.
[[nodiscard]] std::vector<std::pair<std::string, std::string>> read_assignments(const std::string& option,
                                                                                const std::vector<std::string>& texts);

/// The items of `a,b,c`; empty items are refused.
[[nodiscard]] std::vector<std::string> read_list_option(const std::string& option, const std::string& text);

/// The keys of `--training`.
[[nodiscard]] const std::vector<std::string>& training_option_keys();

/// `gradient_copies=1,optimizer_copies=2,…` over the defaults.
[[nodiscard]] TrainingChoice read_training_option(const std::optional<std::string>& text);

/// `NAME` or `NAME,parameter=value,…`. The caller has to check that there is such a schedule with such parameters.
[[nodiscard]] ScheduleChoice read_schedule_option(const std::string& option, const std::string& text);

/// `NAME[,parameter=value…],NAME…`: an item without `=` begins a schedule. One that comes twice is refused. The caller
/// has to check them as for one.
[[nodiscard]] std::vector<ScheduleChoice> read_schedules_option(const std::string& option, const std::string& text);

/// Relative speeds of device kinds, from texts `KIND=x`.
[[nodiscard]] std::map<std::string, double> read_speed_options(const std::vector<std::string>& texts);

/// `keep`, `recompute`, `swap` or `cheapest`. **Throws** InputError naming `option`.
[[nodiscard]] MemoryPolicy read_memory_option(const std::string& option, const std::string& text);
[[nodiscard]] std::vector<std::string> memory_policies();

}  // namespace stagecraft
