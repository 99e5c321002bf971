#include "experiments/commands/group_options.hpp"

#include "experiments/commands/add_option.hpp"
#include "experiments/run/chosen_degrees.hpp"
#include "experiments/run/option_text.hpp"
#include "sim/base/error.hpp"
#include "sim/base/text.hpp"
#include "sim/io/plan_degrees.hpp"

#include <algorithm>

namespace stagecraft {
namespace {

double read_load(const std::string& option, const std::string& text) {
  const Parsed<double> load = parse_number(text);
  if (load && *load.value >= 1.0 && *load.value <= kMostImbalance) return *load.value;
  throw InputError("expected a number from 1 to " + format_number(kMostImbalance) + ", found " + quote(text),
                   {"", 0, 0, option});
}

bool is_searched(const GroupOptions& options, SearchAxis axis) {
  return std::ranges::find(options.searched, axis) != options.searched.end();
}

void read_context(const GroupOptions& options, Degrees& degrees) {
  degrees.context = read_count_option("--context", options.context, 1, kMostInGroup).value_or(1);
  if (!options.context_attention) return;
  degrees.attention = context_attention_of(
      read_choice_option("--context-attention", *options.context_attention, context_attention_names()));
  if (degrees.context == 1 && !is_searched(options, SearchAxis::Context)) {
    throw InputError("needs --context of more than 1", {"", 0, 0, "--context-attention"},
                     "only the devices of a context group attend to the tokens of each other");
  }
}

void read_expert(const GroupOptions& options, Degrees& degrees) {
  degrees.expert = read_count_option("--expert", options.expert, 1, kMostInGroup).value_or(1);
  const bool is_dropless = !options.capacity || *options.capacity == "none";
  if (!options.imbalance && is_dropless) return;
  if (options.imbalance && !is_dropless) throw InputError("give --imbalance or --capacity, not both");
  const std::string option = options.imbalance ? "--imbalance" : "--capacity";
  degrees.imbalance = read_load(option, options.imbalance ? *options.imbalance : *options.capacity);
  if (degrees.expert == 1 && !is_searched(options, SearchAxis::Expert)) {
    throw InputError("needs --expert of more than 1", {"", 0, 0, option},
                     "only the devices of an expert group have different experts");
  }
}

}  // namespace

void add_group_options(CLI::App& command, GroupOptions& options) {
  add_option(command, "--tensor,--tp", options.tensor,
             std::string("devices that divide each layer's weights and run one microbatch together") +
                 (options.offers_auto ? ", or auto: each planner's fastest number" : "") + "; default: 1");
  add_option(command, "--sequence-parallel", options.sequence_parallel,
             "whether they divide by tokens what they do not divide by weights: true (default) or false");
  add_option(command, "--context,--cp", options.context,
             "devices that divide the tokens of each sample, times those of --tensor; default: 1");
  add_option(command, "--context-attention", options.context_attention,
             "how they attend to the tokens of each other: ring (default): keys and values pass around while each "
             "attends; all-gather: each gathers them all; all-to-all: each gets some of the heads for all tokens");
  add_option(command, "--expert,--ep", options.expert,
             "devices that divide the experts of each block: a divisor of --tensor times --context, or a multiple, "
             "whose further devices have microbatches of their own; default: 1");
  add_option(command, "--imbalance", options.imbalance,
             "how many times the mean of tokens the busiest of these gets; default: 1");
  add_option(
      command, "--capacity", options.capacity,
      "in place of --imbalance: how many times the mean of tokens each expert gets, padded or dropped; default: none");
}

void read_group_options(const GroupOptions& options, PlanningChoices& choices) {
  Degrees& degrees = choices.degrees;
  choices.fastest_degrees = options.offers_auto && options.tensor == kFastestDegrees;
  if (!choices.fastest_degrees) {
    degrees.tensor = read_count_option("--tensor", options.tensor, 1, kMostInGroup).value_or(1);
  }
  if (options.sequence_parallel) {
    degrees.sequence =
        read_choice_option("--sequence-parallel", *options.sequence_parallel, {"true", "false"}) == "true";
  }
  read_context(options, degrees);
  read_expert(options, degrees);
  const bool are_chosen = choices.fastest_degrees || is_searched(options, SearchAxis::Tensor) ||
                          is_searched(options, SearchAxis::Context) || is_searched(options, SearchAxis::Expert);
  if (are_chosen) return;
  if (const auto problem = degrees_problem(degrees)) throw InputError(*problem);
}

}  // namespace stagecraft
