#include "experiments/measured/logged_network.hpp"

#include "experiments/measured/step_network.hpp"
#include "sim/workload/sized_graph.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

namespace stagecraft {
namespace {

/// A key of an architecture file, and the flag that says its size.
struct KeyFlag {
  const char* key;
  const char* flag;
};

constexpr std::array kKeyFlags{KeyFlag{"layers", "num-layers"},
                               KeyFlag{"hidden", "hidden-size"},
                               KeyFlag{"heads", "num-attention-heads"},
                               KeyFlag{"key_value_heads", "num-query-groups"},
                               KeyFlag{"feed_forward", "ffn-hidden-size"},
                               KeyFlag{"vocabulary", "vocab-size"},
                               KeyFlag{"sequence", "seq-length"}};

/// A size that the flags say, by its column.
struct SaidSize {
  std::string column;
  NetworkSizes::Size size;
  NetworkSizes::Size NetworkSizes::* own = nullptr;  ///< none: every file gives it
};

std::vector<SaidSize> said_sizes(const MegatronRun& run, const MegatronNetwork& network) {
  const NetworkSizes& sizes = network.sizes;
  std::vector<SaidSize> said = {{"layers", run.blocks},
                                {"hidden", sizes.hidden, &NetworkSizes::hidden},
                                {"heads", sizes.heads, &NetworkSizes::heads},
                                {"key_value_heads", sizes.key_value_heads, &NetworkSizes::key_value_heads},
                                {"feed_forward", sizes.feed_forward, &NetworkSizes::feed_forward},
                                {"vocabulary", padded_vocabulary(network, run), &NetworkSizes::vocabulary}};
  std::erase_if(said, [](const SaidSize& each) { return !each.size; });
  return said;
}

/// The network of the row. What it cannot have is refused at the flag that says it.
StepNetwork network_at(const MeasuredStep& step, const MegatronFlags& flags) {
  try {
    return step_network(step);
  } catch (const InputError& error) {
    const auto* const found = std::ranges::find(kKeyFlags, error.place().key, &KeyFlag::key);
    if (!error.place().file.empty() || found == kKeyFlags.end()) throw;
    throw InputError(error.message(), flags.value_place(found->flag), error.hint());
  }
}

/// Replaces the sizes that the file gives, and defaults that are not those of the run.
StepNetwork with_said_sizes(MeasuredStep& step, const std::vector<SaidSize>& said, const MegatronFlags& flags) {
  const auto keys = architecture_keys(step);
  if (!keys) return network_at(step, flags);
  const auto is_given = [&](const std::string& key) { return std::ranges::find(*keys, key) != keys->end(); };
  for (const SaidSize& each : said) {
    if (is_given(each.column)) step.sizes.emplace_back(each.column, *each.size);
  }
  StepNetwork network = network_at(step, flags);
  const std::optional<NetworkSizes>& sizes = network.architecture.sizes;
  const std::size_t before = step.sizes.size();
  for (const SaidSize& each : said) {
    const bool has_default = each.column == "feed_forward" || each.column == "vocabulary";
    if (!has_default || is_given(each.column) || !sizes) continue;
    const NetworkSizes::Size own = *sizes.*each.own;
    if (own && *own != *each.size) step.sizes.emplace_back(each.column, *each.size);
  }
  return step.sizes.size() == before ? network : network_at(step, flags);
}

}  // namespace

LoggedNetwork logged_network(const std::string& model, const MegatronRun& run, const MegatronNetwork& network,
                             const MegatronFlags& flags) {
  MeasuredStep step;
  step.model = model;
  step.sequence = run.sequence;
  StepNetwork found = with_said_sizes(step, said_sizes(run, network), flags);
  LoggedNetwork logged{sized_graph(found.architecture, {"any device"}), std::move(step.sizes), {}, {}};
  logged.not_compared = compare_network(network, run, flags, found.architecture.sizes, logged.graph);
  logged.remarks = std::move(found.remarks);
  return logged;
}

}  // namespace stagecraft
