#include "experiments/run/search_axes.hpp"

#include "experiments/run/chosen_degrees.hpp"
#include "experiments/run/chosen_size.hpp"
#include "experiments/run/degrees_text.hpp"
#include "experiments/run/limits.hpp"
#include "experiments/run/option_text.hpp"
#include "sim/base/counted.hpp"
#include "sim/base/error.hpp"
#include "sim/base/text.hpp"
#include "sim/io/plan_degrees.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <bit>
#include <cstddef>
#include <set>

namespace stagecraft {
namespace {

using Say = std::function<void(const std::string&)>;

bool has_axis(const std::vector<SearchAxis>& axes, SearchAxis axis) {
  return std::ranges::find(axes, axis) != axes.end();
}

/// 1, 2, 4, … up to `most`.
std::vector<std::int64_t> powers_of_two(std::int64_t most) {
  std::vector<std::int64_t> powers;
  for (std::int64_t power = 1; power <= most; power *= 2) powers.push_back(power);
  return powers;
}

std::int64_t most_in_group(const Platform& platform) {
  return std::min(kMostInGroup, static_cast<std::int64_t>(platform.devices.size()));
}

/// Of a sample whose tokens are not known, all.
std::vector<std::int64_t> context_degrees(const Inputs& inputs) {
  const std::int64_t tokens = inputs.model.profiles.front().work.tokens;
  std::vector<std::int64_t> degrees = powers_of_two(most_in_group(inputs.platform));
  std::erase_if(degrees, [&](std::int64_t degree) { return tokens % degree != 0; });
  return degrees;
}

bool divides_experts(const Model& model, std::int64_t degree) {
  try {
    return degree == 1 || (model.computed && model.computed->sharded({.expert = degree}) != nullptr);
  } catch (const InputError&) {
    return false;
  }
}

std::vector<std::int64_t> expert_degrees(const Inputs& inputs) {
  std::vector<std::int64_t> degrees = powers_of_two(most_in_group(inputs.platform));
  std::erase_if(degrees, [&](std::int64_t degree) { return !divides_experts(inputs.model, degree); });
  return degrees;
}

/// Whether groups of a searched degree can have all of the platform's devices.
bool fill_platform(const Degrees& degrees, const Platform& platform) {
  const auto devices = static_cast<std::int64_t>(platform.devices.size());
  return !degrees_problem(degrees) && degrees.devices() <= kMostInGroup && devices % degrees.devices() == 0;
}

/// All groups to try, the small ones first.
std::vector<Degrees> groups_of(const std::vector<SearchAxis>& axes, const Inputs& inputs, const Degrees& given) {
  const bool seeks_tensor = has_axis(axes, SearchAxis::Tensor);
  const bool seeks_context = has_axis(axes, SearchAxis::Context);
  const bool seeks_expert = has_axis(axes, SearchAxis::Expert);
  if (!seeks_tensor && !seeks_context && !seeks_expert) return {given};
  using Values = std::vector<std::int64_t>;
  const Values experts = seeks_expert ? expert_degrees(inputs) : Values{given.expert};
  const Values contexts = seeks_context ? context_degrees(inputs) : Values{given.context};
  std::vector<Degrees> groups;
  for (const std::int64_t expert : experts) {
    for (const std::int64_t context : contexts) {
      Degrees degrees = given;
      degrees.expert = expert;
      degrees.context = context;
      const Values tensors = seeks_tensor ? tensor_degrees(inputs.platform, degrees) : Values{given.tensor};
      for (const std::int64_t tensor : tensors) {
        degrees.tensor = tensor;
        if (fill_platform(degrees, inputs.platform)) groups.push_back(degrees);
      }
    }
  }
  if (groups.empty()) {
    throw InputError("no groups of the degrees that are searched divide platform " + quote(inputs.platform.spec.name),
                     {"", 0, 0, "--search"}, "the other degrees are " + degrees_text(given));
  }
  std::ranges::stable_sort(groups, {}, &Degrees::devices);
  return groups;
}

/// Whether some devices have the same parameters, so that they can divide what is kept of these.
bool has_copies(const Degrees& degrees, const Inputs& inputs) {
  const bool has_experts = std::ranges::any_of(inputs.model.profiles.front().layers,
                                               [](const Layer& layer) { return layer.experts > Bytes(0); });
  const Copies copies = copies_in(degrees);
  return static_cast<std::int64_t>(inputs.platform.devices.size()) > degrees.devices() || copies.plain > 1 ||
         (has_experts && copies.experts > 1);
}

std::vector<std::int64_t> sizes_of(const Inputs& inputs, PlanningChoices choices, const Say& say) {
  choices.fastest_size = true;
  choices.degrees = {};  // whose members have parts of a global batch: a size that does not divide theirs is refused
  const std::vector<std::int64_t> known = known_sizes(inputs, choices, say);
  std::vector<std::int64_t> sizes = known;
  std::erase_if(sizes, [&](std::int64_t size) {
    const bool is_given = std::ranges::any_of(inputs.model.profiles,
                                              [&](const LayerGraph& graph) { return graph.microbatch_size == size; });
    return !std::has_single_bit(static_cast<std::uint64_t>(size)) && !is_given;
  });
  return sizes.empty() ? known : sizes;
}

/// **Requires** an axis that is a number, and a size if it is that of microbatches.
std::int64_t number_of(const PlanningChoices& choices, SearchAxis axis) {
  switch (axis) {
    case SearchAxis::Tensor: return choices.degrees.tensor;
    case SearchAxis::Context: return choices.degrees.context;
    case SearchAxis::Expert: return choices.degrees.expert;
    case SearchAxis::Zero: return choices.training.zero;
    default: return choices.microbatch_size.value();
  }
}

SearchAxis read_axis(const std::string& name) {
  const std::vector<std::string>& names = search_axis_names();
  const auto found = std::ranges::find(names, name == "recompute" ? "memory" : name);
  if (found != names.end()) return static_cast<SearchAxis>(found - names.begin());
  throw InputError("there is nothing to search that is called " + quote(name), {"", 0, 0, "--search"},
                   suggest_name(name, names));
}

/// `2:8`, or `8` for that alone.
SearchSpace::Range read_range(SearchAxis axis, const std::string& text) {
  if (axis == SearchAxis::Memory) throw InputError("memory has no range", {"", 0, 0, "--search"}, "give --memory");
  const std::string option = "--search " + to_string(axis);
  const std::size_t colon = std::min(text.find(':'), text.size());
  const auto read = [&](const std::string& part, std::int64_t least) {
    return read_count_option(option, part, least, run_limits::kMostSamples);
  };
  const std::int64_t least = read(text.substr(0, colon), axis == SearchAxis::Zero ? 0 : 1);
  return {least, colon == text.size() ? least : read(text.substr(colon + 1), least)};
}

bool within(const std::map<SearchAxis, SearchSpace::Range>& ranges, const PlanningChoices& choices) {
  return std::ranges::all_of(ranges, [&](const auto& range) {
    const std::int64_t value = number_of(choices, range.first);
    return range.second.least <= value && value <= range.second.most;
  });
}

/// `5 of tensor, 4 of zero`: how many values the combinations have on each axis.
std::string counts_text(const std::vector<SearchAxis>& axes, const std::vector<PlanningChoices>& combinations) {
  std::string text;
  for (const SearchAxis axis : axes) {
    std::set<std::string> values;
    for (const PlanningChoices& each : combinations) values.insert(value_text(each, axis));
    text += fmt::format("{}{} of {}", text.empty() ? "" : ", ", values.size(), to_string(axis));
  }
  return text;
}

using Size = std::optional<std::int64_t>;

/// Adds the choices with every size of a microbatch and every policy.
void add_each(PlanningChoices choices, const std::vector<Size>& sizes, const std::vector<MemoryPolicy>& policies,
              std::vector<PlanningChoices>& combinations) {
  for (const Size& size : sizes) {
    choices.microbatch_size = size;
    for (const MemoryPolicy policy : policies) {
      choices.memory = policy;
      combinations.push_back(choices);
    }
  }
}

}  // namespace

const std::vector<std::string>& search_axis_names() {
  static const std::vector<std::string> kNames = {"tensor", "context", "expert", "zero", "memory", "microbatch_size"};
  return kNames;
}

const std::string& to_string(SearchAxis axis) { return search_axis_names().at(static_cast<std::size_t>(axis)); }

SearchSpace read_search_option(const std::string& text) {
  std::set<SearchAxis> axes;
  SearchSpace space;
  for (const std::string& item : read_list_option("--search", text)) {
    const std::size_t end = std::min(item.find('='), item.size());
    const SearchAxis axis = read_axis(item.substr(0, end));
    if (!axes.insert(axis).second) throw InputError(quote(to_string(axis)) + " is given twice", {"", 0, 0, "--search"});
    if (end < item.size()) space.ranges.emplace(axis, read_range(axis, item.substr(end + 1)));
  }
  space.axes.assign(axes.begin(), axes.end());
  return space;
}

std::string value_text(const PlanningChoices& choices, SearchAxis axis) {
  if (axis == SearchAxis::Memory) return to_string(choices.memory);
  if (axis == SearchAxis::MicrobatchSize && !choices.microbatch_size) return "-";
  return std::to_string(number_of(choices, axis));
}

std::vector<PlanningChoices> combinations_of(const SearchSpace& space, const Inputs& inputs,
                                             const PlanningChoices& choices, const Say& say) {
  const std::vector<SearchAxis>& axes = space.axes;
  std::vector<Size> sizes = {choices.microbatch_size};
  if (has_axis(axes, SearchAxis::MicrobatchSize)) {
    const std::vector<std::int64_t> known = sizes_of(inputs, choices, say);
    sizes.assign(known.begin(), known.end());
  }
  std::vector<MemoryPolicy> policies = {choices.memory};
  if (has_axis(axes, SearchAxis::Memory)) policies = {MemoryPolicy::Keep, MemoryPolicy::Recompute};
  std::vector<PlanningChoices> combinations;
  for (const Degrees& degrees : groups_of(axes, inputs, choices.degrees)) {
    std::vector<std::int64_t> zeros = {choices.training.zero};
    if (has_axis(axes, SearchAxis::Zero)) zeros = {0, 1, 2, 3};
    if (has_axis(axes, SearchAxis::Zero) && !has_copies(degrees, inputs)) zeros = {0};
    PlanningChoices each = choices;
    each.degrees = degrees;
    for (const std::int64_t zero : zeros) {
      each.training.zero = zero;
      add_each(each, sizes, policies, combinations);
    }
  }
  std::erase_if(combinations, [&](const PlanningChoices& each) { return !within(space.ranges, each); });
  if (combinations.empty()) throw InputError("no value lies in the ranges that are searched", {"", 0, 0, "--search"});
  if (std::ssize(combinations) <= run_limits::kMostCombinations) return combinations;
  throw InputError(fmt::format("expected at most {} combinations, found {}: {}", run_limits::kMostCombinations,
                               combinations.size(), counts_text(axes, combinations)),
                   {"", 0, 0, "--search"},
                   "search less at once, as with tensor=2:8, and give the rest with its options");
}

}  // namespace stagecraft
