#include "experiments/view/plan_view.hpp"

#include "experiments/run/degrees_text.hpp"
#include "experiments/run/simulation.hpp"
#include "experiments/view/cost_view.hpp"
#include "experiments/view/explanation.hpp"
#include "experiments/view/plan_remarks.hpp"
#include "experiments/view/rates_view.hpp"
#include "experiments/view/saving_words.hpp"
#include "experiments/view/table.hpp"
#include "experiments/view/update_words.hpp"
#include "planners/registry.hpp"
#include "planners/shared/costs/cost_model.hpp"
#include "sim/base/counted.hpp"
#include "sim/base/short_number.hpp"
#include "sim/base/text.hpp"
#include "sim/io/json.hpp"
#include "sim/io/plan_file.hpp"
#include "sim/schedule/kept_plan.hpp"
#include "sim/schedule/schedule_family.hpp"
#include "sim/schedule/updates.hpp"

#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <map>
#include <span>
#include <variant>

namespace stagecraft {
namespace {

char letter_of(const Recompute& segment) { return segment.covered.all() ? 'r' : 'R'; }
char letter_of(const Swap& swap) { return swap.covered.all() ? 's' : 'S'; }

/// One letter for each layer of the stage: kept, recomputed or swapped; capital if for some microbatches only.
std::string action_letters(const Stage& stage) {
  std::map<LayerId, char> letter;
  for (const MemoryAction& action : stage.memory) {
    std::visit(
        [&](const auto& one) {
          for (const LayerId layer : one.layers) letter[layer] = letter_of(one);
        },
        action);
  }
  std::string letters;
  for (const LayerId layer : stage.layers) letters += letter.contains(layer) ? letter.at(layer) : 'k';
  return letters;
}

/// The largest peak of a stage's devices; null if there are no figures of them.
Detail largest_peak(const Stage& stage, const Figures& figures) {
  std::optional<Bytes> largest;
  for (const auto& [device, peak] : figures.peak_memory) {
    if (!runs_on(stage, device)) continue;
    largest = std::max(largest.value_or(peak), peak);
  }
  return largest ? Detail(largest->value()) : Detail();
}

Detail::Record stage_record(const LayerGraph& graph, const Platform& platform, const ScheduleProgram& program,
                            const Figures& evaluated, StageId id) {
  const StageUpdates updates = stage_updates(graph, program)[id.value()];
  const Stage& stage = program.kept->plan.stages[id.value()];
  Detail::List layers;
  for (LayerId layer : stage.layers) layers.emplace_back(graph.layers[layer].name);
  Detail::List devices;
  for (DeviceId device : devices_of(stage)) devices.emplace_back(platform.devices[device].name);
  Detail::Record record = {{"layers", std::move(layers)}, {"devices", std::move(devices)}};
  if (!stage.ring.empty()) {
    Detail::List ring;
    for (DeviceId device : ring_of(stage)) ring.emplace_back(platform.devices[device].name);
    record.emplace_back("ring", std::move(ring));
  }
  record.emplace_back("actions", action_letters(stage));
  record.emplace_back("in_flight", program.in_flight[id.value()]);
  record.emplace_back("weight_versions", program.weight_versions[id.value()]);
  record.emplace_back("time_s", stage_time(graph, platform, stage).total().value());
  record.emplace_back("memory_bytes", largest_peak(stage, evaluated));
  record.emplace_back("samples_per_update", updates.samples);
  record.emplace_back("staleness", updates.staleness);
  return record;
}

Detail::Record infeasible_record(const Planning& planning, const Platform& platform) {
  const auto& infeasible = std::get<Infeasible>(planning.result);
  const auto& size = planning.largest_microbatch_size;
  const bool has_device = infeasible.device.has_value();
  return {
      {"reason", infeasible.reason},
      {"device", has_device ? Detail(platform.devices[*infeasible.device].name) : Detail()},
      {"stage", infeasible.stage ? Detail(std::int64_t{*infeasible.stage}) : Detail()},
      {"excess_bytes", infeasible.excess.value()},
      {"smallest_memory_bytes", infeasible.smallest_memory ? Detail(infeasible.smallest_memory->value()) : Detail()},
      {"largest_microbatch_size", size ? Detail(*size) : Detail()},
      {"hint", infeasible.hint.empty() ? Detail() : Detail(infeasible.hint)}};
}

std::string layers_text(const LayerGraph& graph, const std::vector<LayerId>& layers) {
  const std::string& first = graph.layers[layers.front()].name;
  return layers.size() == 1 ? first : first + " .. " + graph.layers[layers.back()].name;
}

/// `keep 12, recompute 3; recompute 2 for some microbatches`: for how many layers the stash is kept, recomputed or
/// swapped.
std::string stash_text(const Stage& stage) {
  const std::string letters = action_letters(stage);
  const auto counts = [&](const std::vector<std::pair<char, const char*>>& words) {
    std::string text;
    for (const auto& [letter, word] : words) {
      const auto count = std::ranges::count(letters, letter);
      if (count > 0) text += (text.empty() ? "" : ", ") + std::string(word) + " " + std::to_string(count);
    }
    return text;
  };
  std::string always = counts({{'k', "keep"}, {'r', "recompute"}, {'s', "swap"}});
  const std::string sometimes = counts({{'R', "recompute"}, {'S', "swap"}});
  if (sometimes.empty()) return always;
  return always + (always.empty() ? "" : "; ") + sometimes + " for some microbatches";
}

/// The largest peak of a stage's devices, with `!` if the memory of one of them does not suffice.
std::string memory_text(const Report& report, const Stage& stage) {
  Bytes largest{0};
  bool fits = true;
  for (const DeviceReport& device : report.devices) {
    if (!runs_on(stage, device.device)) continue;
    largest = std::max(largest, device.memory.peak);
    fits = fits && device.memory.peak <= device.memory.capacity;
  }
  return format_human_bytes(largest) + (fits ? "" : "!");
}

/// At most eight of them, as `2:1`.
std::string shares_text(const std::vector<std::int64_t>& shares) {
  constexpr std::size_t kMost = 8;
  const std::string text = fmt::format("{}", fmt::join(std::span(shares).first(std::min(kMost, shares.size())), ":"));
  return shares.size() > kMost ? text + ":..." : text;
}

std::string stage_table(const LayerGraph& graph, const Platform& platform, const ScheduleProgram& program,
                        const Report& evaluated) {
  const Plan& plan = program.kept->plan;
  Table table{{"stage", "layers", "devices", "replicas", "stash", "in flight", "versions", "time", "memory"}, {}, 3};
  for (std::size_t s = 0; s < plan.stages.size(); ++s) {
    const Stage& stage = plan.stages[s];
    const Seconds time = stage_time(graph, platform, stage).total();
    std::string replicas = std::to_string(stage.replicas.size());
    if (stage.replication == Replication::Split) replicas += " split";
    if (!stage.shares.empty()) replicas += " " + shares_text(stage.shares);
    table.rows.push_back({std::to_string(s), layers_text(graph, stage.layers), devices_text(platform, ring_of(stage)),
                          replicas, stash_text(stage), std::to_string(program.in_flight[s]),
                          std::to_string(program.weight_versions[s]), format_human_seconds(time),
                          memory_text(evaluated, stage)});
  }
  return to_text(table);
}

std::string figures_text(const std::string& who, const Figures& figures) {
  const std::optional<Seconds> time = headline(figures);
  if (!time) return "";
  return who + ": " + (figures.period ? "period per microbatch " : "iteration time ") + format_human_seconds(*time) +
         "\n";
}

/// A line with the changes of the request that would lead to a plan; empty if none is known.
std::string remedy_text(const Planning& planning) {
  const auto& infeasible = std::get<Infeasible>(planning.result);
  const std::int64_t size = planning.graph.microbatch_size;
  std::string text;
  if (infeasible.smallest_memory)
    text = "at least " + format_enough_bytes(*infeasible.smallest_memory) + " on every device";
  if (planning.largest_microbatch_size) {
    text += (text.empty() ? "" : ", or ") + std::string("microbatches of ") +
            std::to_string(*planning.largest_microbatch_size) + " instead of " + counted(size, "sample");
  } else if (!text.empty() && !infeasible.is_costly && size > 1) {
    text += "; no smaller microbatch size fits";
  }
  return text.empty() ? "" : "would fit with " + text + "\n";
}

/// Which planners search for cuts that fit, if memory is lacking and this one does not.
std::string other_planners(const Planning& planning) {
  const PlannerInfo& planner = *planning.planner;
  const auto& none = std::get<Infeasible>(planning.result);
  const bool lacks_memory = none.excess > Bytes(0) || none.smallest_memory;
  const bool searches = planner.cuts_by_memory || planner.wants_judge != nullptr;
  if (!lacks_memory || searches || planner.takes_any_option) return "";
  const bool needs_flush = held_copies(planning.graph) != Copies{};
  std::string names;
  for (const PlannerInfo* other : all_planners()) {
    const bool flushes = !other->default_schedule.empty() && require_family(other->default_schedule).synchronous;
    if (other->cuts_by_memory && (flushes || !needs_flush)) names += (names.empty() ? "" : ", ") + other->name;
  }
  return "other planners search for cuts that fit: " + names + "\n";
}

}  // namespace

std::string devices_text(const Platform& platform, const std::vector<DeviceId>& devices) {
  const auto name = [&](DeviceId device) { return platform.devices[device].name; };
  std::string text;
  for (std::size_t i = 0; i < devices.size();) {
    std::size_t end = i + 1;
    while (end < devices.size() && devices[end].value() == devices[end - 1].value() + 1) ++end;
    text += (text.empty() ? "" : ",") + name(devices[i]);
    if (end - i > 1) text += ".." + name(devices[end - 1]);
    i = end;
  }
  return text;
}

std::vector<DeviceId> ring_of(const Stage& stage) {
  if (stage.ring.empty()) return devices_of(stage);
  Stage in_ring;
  for (const std::uint32_t turn : stage.ring) in_ring.replicas.push_back(stage.replicas[turn]);
  return devices_of(in_ring);
}

std::string infeasible_text(const Planning& planning, const Platform& platform, const std::string& indent) {
  const auto& infeasible = std::get<Infeasible>(planning.result);
  std::string text = infeasible.reason;
  const auto is_told = [&](const std::string& name) { return infeasible.reason.find(name) != std::string::npos; };
  if (infeasible.device && !is_told(platform.devices[*infeasible.device].name)) {
    text += "; on " + platform.devices[*infeasible.device].name;
  }
  if (infeasible.stage) text += "; in stage " + std::to_string(*infeasible.stage);
  if (infeasible.excess > Bytes(0)) text += "; " + format_human_bytes(infeasible.excess) + " too much";
  if (!infeasible.hint.empty()) text += " (" + infeasible.hint + ")";
  const std::string remedy = remedy_text(planning);
  return text + "\n" + (remedy.empty() ? "" : indent + remedy);
}

Detail::List stage_list(const LayerGraph& graph, const Platform& platform, const ScheduleProgram& program,
                        const Figures& evaluated) {
  Detail::List stages;
  for (StageId id : indices<StageId>(program.kept->plan.stages.size())) {
    stages.emplace_back(stage_record(graph, platform, program, evaluated, id));
  }
  return stages;
}

namespace {

/// `replicas divide the optimizer (zero 1)`; empty if each replica keeps all of it, or has no other beside it.
std::string divided_text(const Plan& plan) {
  constexpr std::array kDivided = {"the optimizer", "gradients and the optimizer",
                                   "weights, gradients and the optimizer"};
  const std::int64_t zero = plan.training.zero;
  if (zero == 0 || !exchanged_buckets(plan)) return "";
  const std::string who = crosses_ring(plan.degrees) ? "devices with the same parameters" : "replicas";
  return fmt::format("{} divide {} (zero {})", who, kDivided.at(static_cast<std::size_t>(zero - 1)), zero);
}

/// The bytes of a parameter on a device; empty without a recipe of the optimizer.
std::string recipe_text(const LayerGraph& graph, const Training& training) {
  if (!training.recipe) return "";
  const KeptCopies kept = kept_copies(*training.recipe);
  const std::int64_t weight = known_parameter_bytes(graph).value_or(kept.weight_bytes);
  const std::int64_t gradients = weight * training.gradient_copies;
  const std::int64_t optimizer = weight * training.optimizer_copies;
  const bool as_recipe = training.gradient_copies == kept.gradients && training.optimizer_copies == kept.optimizer;
  return "a parameter takes " + std::to_string(weight + gradients + optimizer) + " bytes: " + std::to_string(weight) +
         " of weights, " + std::to_string(gradients) + " of gradients, " + std::to_string(optimizer) +
         " of the optimizer (recipe " + to_string(*training.recipe) + (as_recipe ? "" : ", with other copies") + ")";
}

/// A line with what a replica keeps of a parameter; empty where neither a recipe nor a division says it.
std::string kept_text(const LayerGraph& graph, const Plan& plan) {
  const std::string recipe = recipe_text(graph, plan.training);
  const std::string divided = divided_text(plan);
  if (recipe.empty() && divided.empty()) return "";
  return recipe + (recipe.empty() || divided.empty() ? "" : "; ") + divided + "\n";
}

}  // namespace

std::string division_text(const Plan& plan) {
  std::string text = on_groups_text(plan.degrees);
  if (plan.training.zero > 0) text += ", zero " + std::to_string(plan.training.zero);
  return text;
}

std::string plan_text(const LayerGraph& graph, const Platform& platform, const ScheduleProgram& program,
                      const Report& evaluated) {
  const Plan& plan = program.kept->plan;
  const std::string planner = plan.planner.empty() ? "" : plan.planner + ": ";
  std::string text =
      planner + graph.name + " on " + platform.spec.name + ", " + schedule_text(plan.schedule) + ", " +
      counted(plan.microbatches, "microbatch") + " of " + microbatch_text(plan.microbatch_size, plan.degrees) +
      division_text(plan) + "\n" + updates_text(stage_updates(graph, program)) + "\n" +
      stage_table(graph, platform, program, evaluated) + kept_text(graph, plan) +
      plan_remarks(graph, platform, program) + "\n" + figures_text("the planner's claim", plan.predicted) +
      figures_text("evaluated without contention", evaluated.figures());
  if (evaluated.period && !evaluated.converged()) text += "not converged: " + drift_text(evaluated) + "\n";
  text += lacking_text(evaluated, platform);
  return text;
}

Detail::Record planning_record(const Planning& planning, const Figures& evaluated, const Platform& platform,
                               bool timings) {
  Detail::Record record{{"planner", planning.planner->name}};
  const Planned* planned = planning.planned();
  if (planned == nullptr) {
    record.emplace_back("outcome", "infeasible");
    for (auto& entry : infeasible_record(planning, platform)) {
      record.push_back(std::move(entry));
    }
  } else {
    record.emplace_back("outcome", "planned");
    record.emplace_back("plan", plan_record(planned->plan, planning.graph, platform));
    record.emplace_back("stages", stage_list(planning.graph, platform, *planning.program, evaluated));
    const StageUpdates updates = largest(stage_updates(planning.graph, *planning.program));
    record.emplace_back("samples_per_update", updates.samples);
    record.emplace_back("staleness", updates.staleness);
    record.emplace_back("memory_by", memory_by(*planned));
    record.emplace_back("predicted", figures_record(planned->plan.predicted, platform));
    record.emplace_back("evaluated", figures_record(evaluated, platform));
    record.emplace_back("details", planned->details);
  }
  if (timings) record.emplace_back("planning_time_s", planning.time.value());
  return record;
}

namespace {

/// A line with the samples, tokens and operations of a second, and one with costs; empty where nothing takes any time.
std::string speed_text(const LayerGraph& graph, const Platform& platform, const Report& evaluated) {
  if (evaluated.throughput <= 0.0) return "";
  const WorkRates rates = work_rates(graph, platform, evaluated);
  const std::string text = rates_text(rates);
  return short_number(evaluated.throughput) + " samples/s" + (text.empty() ? "" : ", " + text) + "\n" +
         cost_line(run_cost(platform, evaluated, rates));
}

}  // namespace

std::string planning_text(const Planning& planning, const Report& evaluated, const Platform& platform, bool timings) {
  const Planned* planned = planning.planned();
  std::string text = planned == nullptr
                         ? "no plan: " + infeasible_text(planning, platform, "") + other_planners(planning)
                         : plan_text(planning.graph, platform, *planning.program, evaluated) +
                               speed_text(planning.graph, platform, evaluated);
  if (timings) text += "planned in " + format_human_seconds(planning.time) + "\n";
  return text;
}

}  // namespace stagecraft
