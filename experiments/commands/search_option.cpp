#include "experiments/commands/search_option.hpp"

#include "experiments/run/chosen_degrees.hpp"
#include "experiments/run/chosen_size.hpp"
#include "sim/base/error.hpp"

namespace stagecraft {
namespace {

/// The option that gives a value on the axis; empty if none does.
std::string option_given(SearchAxis axis, const PlanningOptions& options) {
  switch (axis) {
    case SearchAxis::Tensor: return options.groups.tensor ? "--tensor" : "";
    case SearchAxis::Context: return options.groups.context ? "--context" : "";
    case SearchAxis::Expert: return options.groups.expert ? "--expert" : "";
    case SearchAxis::Zero:
      if (options.zero) return "--zero";
      return options.training && options.training->find("zero=") != std::string::npos ? "the key zero of --training"
                                                                                      : "";
    case SearchAxis::Memory: return options.memory ? "--memory" : "";
    case SearchAxis::MicrobatchSize: break;
  }
  return options.microbatch_size ? "--microbatch-size" : "";
}

void refuse_other_search(const std::string& option, const std::string& word, SearchAxis axis) {
  throw InputError(word + " is a search of its own", {"", 0, 0, option}, "name " + to_string(axis) + " in --search");
}

}  // namespace

SearchSpace read_search_space(const std::optional<std::string>& search, const PlanningOptions& options) {
  if (!search) return {};
  SearchSpace space = read_search_option(*search);
  for (const SearchAxis axis : space.axes) {
    const std::string option = option_given(axis, options);
    if (!option.empty()) throw InputError("give " + option + " or search " + to_string(axis) + ", not both");
  }
  if (options.groups.tensor == kFastestDegrees) refuse_other_search("--tensor", kFastestDegrees, SearchAxis::Tensor);
  if (options.microbatch_size == kFastestSize) {
    refuse_other_search("--microbatch-size", kFastestSize, SearchAxis::MicrobatchSize);
  }
  return space;
}

}  // namespace stagecraft
