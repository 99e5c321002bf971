#include "experiments/measured/kineto_layers.hpp"

#include "experiments/measured/kineto_executions.hpp"
#include "sim/base/counted.hpp"
#include "sim/base/error.hpp"
#include "sim/base/text.hpp"

#include <algorithm>
#include <map>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <utility>

namespace stagecraft {
namespace {

constexpr Nanoseconds kMostIdle = 1'000'000'000'000'000'000;  // 31 years
constexpr std::string_view kModulePrefix = "nn.Module: ";
constexpr std::string_view kStepPrefix = "ProfilerStep#";

/// Time in which at least one of the kernels of a device runs, and the rest up to its last one.
void count_busy(const KinetoTrace& trace, KinetoProfile& profile) {
  std::vector<std::tuple<std::int32_t, Nanoseconds, Nanoseconds>> spans;
  spans.reserve(trace.kernels.size());
  for (const KinetoKernel& kernel : trace.kernels) {
    spans.emplace_back(kernel.device, kernel.start, kernel.start + kernel.duration);
  }
  std::ranges::sort(spans);
  for (std::size_t i = 0; i < spans.size();) {
    const std::int32_t device = std::get<0>(spans[i]);
    Nanoseconds until = std::get<1>(spans[i]);
    for (; i < spans.size() && std::get<0>(spans[i]) == device; ++i) {
      const auto [unused, start, end] = spans[i];
      profile.idle = std::min(profile.idle + std::max<Nanoseconds>(start - until, 0), kMostIdle);
      profile.busy += std::max<Nanoseconds>(end - std::max(start, until), 0);
      until = std::max(until, end);
    }
  }
}

std::int64_t steps_of(const KinetoTrace& trace) {
  return std::ranges::count_if(trace.scopes, [&](const KinetoScope& scope) {
    return scope.kind == ScopeKind::Annotation && trace.names[scope.name].starts_with(kStepPrefix);
  });
}

/// Of an execution: the name of its range, or that of its operator without the library.
std::string base_name(const KinetoTrace& trace, const KinetoExecution& execution, bool is_operator) {
  const std::string& name = trace.names[trace.scopes[execution.scope].name];
  if (!is_operator) return name.starts_with(kModulePrefix) ? name.substr(kModulePrefix.size()) : name;
  const std::size_t colons = name.rfind("::");
  return colons == std::string::npos ? name : name.substr(colons + 2);
}

KinetoLayer new_layer(const std::string& name, const KinetoExecution& execution) {
  const KinetoShapes& shapes = execution.shapes;
  return {name, {}, {}, shapes.input, shapes.parameters, shapes.first, execution.place == KinetoPlace::Input};
}

void add_execution(const KinetoExecution& execution, KinetoLayer& layer) {
  layer.forward.count += execution.forward.count;
  layer.forward.time += execution.forward.time;
  layer.backward.count += execution.backward.count;
  layer.backward.time += execution.backward.time;
}

/// What each pass has of the forward and of the backward.
class PassExtents {
 public:
  void add(std::int64_t pass, const KinetoExecution& execution) {
    if (execution.forward.count > 0) add(pass, false, execution.forward_extent);
    if (execution.backward.count > 0) add(pass, true, execution.backward_extent);
  }
  [[nodiscard]] std::vector<KinetoOperation> operations() const {
    std::vector<KinetoOperation> list;
    for (const auto& [key, extent] : extents_) list.push_back({key.second, key.first, extent.start, extent.end});
    return list;
  }

 private:
  void add(std::int64_t pass, bool is_backward, const KernelExtent& extent) {
    const auto [entry, is_new] = extents_.try_emplace({pass, is_backward});
    extend(entry->second, extent, is_new);
  }
  std::map<std::pair<std::int64_t, bool>, KernelExtent> extents_;
};

/// One layer for each name. Executions inside the backward recompute a layer and are no passes.
void group_ranges(const KinetoTrace& trace, const KinetoExecutions& executions, const KinetoChoice& choice,
                  KinetoProfile& profile) {
  std::unordered_map<std::string, std::size_t> positions;
  std::vector<std::int64_t> times;
  std::vector<std::int64_t> recomputations;
  for (const KinetoExecution& execution : executions.all) {
    const std::string name = base_name(trace, execution, false);
    const auto [entry, is_new] = positions.try_emplace(name, profile.layers.size());
    if (is_new) {
      profile.layers.push_back(new_layer(name, execution));
      times.push_back(0);
      recomputations.push_back(0);
    }
    add_execution(execution, profile.layers[entry->second]);
    ++(execution.recomputes ? recomputations : times)[entry->second];
  }
  profile.passes = choice.passes.value_or(std::max<std::int64_t>(times.front(), 1));
  for (std::size_t i = 0; i < times.size(); ++i) {
    if (times[i] % profile.passes == 0) continue;
    throw InputError(quote(profile.layers[i].name) + " ran " + counted(times[i], "time") +
                         ", which is no multiple of " + std::to_string(profile.passes) +
                         ", the forward passes of the trace",
                     {trace.file, 0, 0, ""}, "give the number of passes (--passes), or name the layers (--layers)");
  }
  // The runs of a layer are those of the first pass, then those of the next one, and so are its recomputations.
  PassExtents extents;
  std::vector<std::array<std::int64_t, 2>> counts(times.size());
  for (const KinetoExecution& execution : executions.all) {
    const std::size_t layer = positions.at(base_name(trace, execution, false));
    const std::int64_t runs = (execution.recomputes ? recomputations : times)[layer];
    extents.add(counts[layer][execution.recomputes ? 1 : 0]++ * profile.passes / runs, execution);
  }
  profile.operations = extents.operations();
}

/// One layer for each operator of a pass. Passes have the same operators.
void group_operators(const KinetoTrace& trace, const KinetoExecutions& executions, const KinetoChoice& choice,
                     KinetoProfile& profile) {
  profile.passes = choice.passes.value_or(std::max<std::int64_t>(steps_of(trace), 1));
  const auto passes = static_cast<std::size_t>(profile.passes);
  const std::size_t each = executions.all.size() / passes;
  const auto name_at = [&](std::size_t i) { return base_name(trace, executions.all[i], true); };
  bool is_equal = each * passes == executions.all.size();
  for (std::size_t i = each; is_equal && i < executions.all.size(); ++i) is_equal = name_at(i) == name_at(i - each);
  if (!is_equal) {
    throw InputError("expected the same operators in each of " + std::to_string(passes) + " forward passes, found " +
                         std::to_string(executions.all.size()) + " that differ",
                     {trace.file, 0, 0, ""}, "--passes 1 takes the trace as one pass; --layers names ranges as layers");
  }
  PassExtents extents;
  std::unordered_map<std::string, std::size_t> counts;
  for (std::size_t i = 0; i < each; ++i) {
    const std::string name = name_at(i);
    profile.layers.push_back(new_layer(name + "_" + std::to_string(counts[name]++), executions.all[i]));
    for (std::size_t p = 0; p < passes; ++p) {
      add_execution(executions.all[i + p * each], profile.layers.back());
      extents.add(static_cast<std::int64_t>(p), executions.all[i + p * each]);
    }
  }
  profile.operations = extents.operations();
}

}  // namespace

KinetoProfile profile_kineto(const KinetoTrace& trace, const KinetoChoice& choice) {
  if (trace.kernels.empty()) {
    throw InputError("the trace has no kernels", {trace.file, 0, 0, ""}, "profile with ProfilerActivity.CUDA");
  }
  KinetoProfile profile;
  profile.file = trace.file;
  profile.rank = trace.rank;
  profile.device_names = trace.device_names;
  profile.base_time = trace.base_time;
  KinetoExecutions executions = find_executions(trace, choice.layers);
  profile.has_modules = !executions.are_operators;
  profile.unattributed = executions.unattributed;
  for (const KinetoKernel& kernel : trace.kernels) profile.kernels.time += kernel.duration;
  profile.kernels.count = trace.kernels.size();
  if (!executions.all.empty()) {
    (profile.has_modules ? group_ranges : group_operators)(trace, executions, choice, profile);
  }
  count_busy(trace, profile);
  return profile;
}

}  // namespace stagecraft
