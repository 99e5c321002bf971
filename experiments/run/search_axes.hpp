#pragma once

#include "experiments/run/inputs.hpp"
#include "experiments/run/planning_choices.hpp"

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

namespace stagecraft {

/// A choice of which a search tries several values.
enum class SearchAxis : std::uint8_t { Tensor, Context, Expert, Zero, Memory, MicrobatchSize };

/// `tensor`, `context`, `expert`, `zero`, `memory` and `microbatch_size`, in the order of the values.
[[nodiscard]] const std::vector<std::string>& search_axis_names();
[[nodiscard]] const std::string& to_string(SearchAxis axis);

/// What a search tries.
struct SearchSpace {
  struct Range {
    std::int64_t least;
    std::int64_t most;
  };
  std::vector<SearchAxis> axes = {};        ///< in the order of the enumerators
  std::map<SearchAxis, Range> ranges = {};  ///< of axes that are numbers: only values of these are tried
};

/// `tensor,zero=1:2,microbatch_size=4`: axes, also with a range or one value; `recompute` is `memory` too.
/// **Throws** InputError for a name that is unknown or comes twice, and for a range that is none.
[[nodiscard]] SearchSpace read_search_option(const std::string& text);

/// What the choices have on an axis, as the user would give it: `8`, or `keep`.
[[nodiscard]] std::string value_text(const PlanningChoices& choices, SearchAxis axis);

/// All combinations of values of the axes, with the other choices as they are; small groups first, then by what
/// replicas divide, then by the size of a microbatch, and `keep` before `recompute`.
/// - Tensor degrees are those of `tensor_degrees`; context degrees powers of two that divide the tokens of a sample;
///   expert degrees powers of two into which the model can divide its experts. Groups divide the platform's devices.
/// - `zero` is 0 to 3, but 0 alone where no two devices have the same parameters.
/// - Microbatch sizes are those that `known_sizes` gives: of these the powers of two and those of the model file, or if
///   there are none all of them.
/// Values outside of a range are left out.
/// **Throws** InputError if there is none, for more than `run_limits::kMostCombinations`, and for sizes as
/// `known_sizes`.
[[nodiscard]] std::vector<PlanningChoices> combinations_of(const SearchSpace& space, const Inputs& inputs,
                                                           const PlanningChoices& choices,
                                                           const std::function<void(const std::string&)>& say);

}  // namespace stagecraft
