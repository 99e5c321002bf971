#include "planners/madpipe/settings.hpp"

#include "planners/shared/costs/limits.hpp"
#include "sim/base/error.hpp"
#include "sim/base/text.hpp"

#include <array>
#include <optional>
#include <string>
#include <string_view>

namespace stagecraft::madpipe {
namespace {

std::optional<int> points(std::string_view text) {
  const Parsed<std::int64_t> count = parse_count(text);
  if (!count || *count.value < 2 || *count.value > kMostGridPoints) return std::nullopt;
  return static_cast<int>(*count.value);
}

std::array<int, 3> grid_of(const std::string& text) {
  std::array<int, 3> grid{};
  std::string_view rest = text;
  for (std::size_t axis = 0; axis < grid.size(); ++axis) {
    const std::size_t slash = axis + 1 < grid.size() ? rest.find('/') : rest.size();
    const std::optional<int> count = slash == std::string_view::npos ? std::nullopt : points(rest.substr(0, slash));
    if (!count) {
      throw InputError("option 'grid' of planner 'madpipe': expected three numbers of points from 2 to " +
                           std::to_string(kMostGridPoints) + ", found " + quote(text),
                       {}, "give points of load, memory and delay, such as 101/11/51");
    }
    grid.at(axis) = *count;
    rest.remove_prefix(std::min(rest.size(), slash + 1));
  }
  return grid;
}

}  // namespace

std::vector<OptionInfo> option_table() {
  return {{"states",
           std::string("grid"),
           "states of the dynamic program: rounded up to a grid, or exact (only for chains of a few layers)",
           {"grid", "exact"}},
          {"grid", std::string("101/11/51"), "points of the grid on load, memory and delay, each from 2 to 10000"},
          {"special_memory",
           std::string("optimistic"),
           "microbatches counted in the memory of the special device for a stage with g in flight: g - 1, or g",
           {"optimistic", "safe"}},
          {"iterations", std::int64_t{10}, "calls of the dynamic program in the search for the period", {}, 1, 100},
          {"candidates",
           std::int64_t{2},
           "allocations, the last ones of that search, for each of which a pattern is sought",
           {},
           1,
           100},
          {"ilp_node_limit",
           std::int64_t{1000},
           "node limit of each integer program's main search; 0: only constructed patterns, no integer program",
           {},
           0,
           1e9},
          {"fallback", true, "return the contiguous plan unless a better plan is found"}};
}

Settings settings_of(const Options& options) {
  Settings settings;
  settings.allocation.exact_states = options.word("states") == "exact";
  settings.allocation.grid = grid_of(options.word("grid"));
  settings.allocation.special_memory =
      options.word("special_memory") == "safe" ? SpecialMemory::Safe : SpecialMemory::Optimistic;
  settings.allocation.iterations = static_cast<int>(options.count("iterations"));
  settings.candidates = static_cast<std::size_t>(options.count("candidates"));
  settings.node_limit = options.count("ilp_node_limit");
  settings.fallback = options.flag("fallback");
  return settings;
}

}  // namespace stagecraft::madpipe
