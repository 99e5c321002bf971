#include "experiments/measured/kineto_executions.hpp"

#include "experiments/measured/kineto_links.hpp"
#include "experiments/measured/kineto_scopes.hpp"
#include "sim/base/error.hpp"
#include "sim/base/text.hpp"

#include <algorithm>
#include <map>
#include <numeric>
#include <string_view>
#include <utility>

namespace stagecraft {
namespace {

constexpr std::string_view kModules = "nn.Module: *";
constexpr std::string_view kOperators = "operators";
constexpr Bytes kMostSummedBytes{std::int64_t{1} << 60};

/// What a range is part of: positions in the trace's scopes, -1 for none.
struct ScopeContext {
  std::int32_t execution = -1;  ///< the layer's range or operator
  std::int32_t backward = -1;   ///< the innermost operator of the backward
  bool in_optimizer = false;
  bool in_parameters = false;  ///< an operator around it has parameters, and counts them
};

/// Which names are layers: none for operators.
std::optional<std::vector<bool>> fitting_names(const KinetoTrace& trace, const std::optional<std::string>& layers) {
  if (layers == kOperators) return std::nullopt;
  const std::string_view pattern = layers ? std::string_view(*layers) : kModules;
  std::vector<bool> fits(trace.names.size());
  bool is_any = false;
  for (const KinetoScope& scope : trace.scopes) {
    if (scope.kind == ScopeKind::Operator || fits[scope.name]) continue;
    fits[scope.name] = fits_pattern(trace.names[scope.name], pattern);
    is_any = is_any || fits[scope.name];
  }
  if (is_any) return fits;
  if (!layers) return std::nullopt;
  throw InputError("no annotation or module of the trace fits " + quote(*layers), {trace.file, 0, 0, ""},
                   "--layers operators takes the operators of autograd");
}

/// Attributes the kernels of one trace.
class Attribution {
 public:
  Attribution(const KinetoTrace& trace, const std::optional<std::string>& layers)
      : trace_(trace), names_(fitting_names(trace, layers)), tree_(nest_scopes(trace)), links_(trace, tree_) {
    contexts_.resize(trace.scopes.size());
    for (std::uint32_t i : tree_.order) contexts_[i] = context_of(i);
  }

  KinetoExecutions find();

 private:
  [[nodiscard]] ScopeContext context_of(std::uint32_t at) const;
  [[nodiscard]] bool is_layer(const KinetoScope& scope, const ScopeContext& around) const;
  void attribute(const KinetoKernel& kernel);
  void attribute_call(const KinetoKernel& kernel, const KinetoCall& call, const ScopeContext& context);
  void add_kernel(const KinetoKernel& kernel, const KinetoCall& call, std::int32_t execution, bool is_backward);
  void add_shapes();
  void add_place(std::uint32_t at, KinetoExecution& execution) const;
  void leave_out(const KinetoKernel& kernel, NoLayer reason);

  const KinetoTrace& trace_;
  std::optional<std::vector<bool>> names_;  ///< of ranges that are layers; none: operators are
  ScopeTree tree_;
  KinetoLinks links_;
  std::vector<ScopeContext> contexts_;
  std::vector<std::uint32_t> by_correlation_;  ///< calls
  std::map<std::int32_t, KinetoExecution> executions_;
  KinetoExecutions result_;
};

bool Attribution::is_layer(const KinetoScope& scope, const ScopeContext& around) const {
  if (names_) return scope.kind != ScopeKind::Operator && (*names_)[scope.name];
  return scope.kind == ScopeKind::Operator && scope.sequence >= 0 && around.execution < 0 && !around.in_optimizer &&
         around.backward < 0 && !is_backward(trace_, scope);
}

ScopeContext Attribution::context_of(std::uint32_t at) const {
  const KinetoScope& scope = trace_.scopes[at];
  const std::int32_t parent = tree_.parent[at];
  ScopeContext context = parent < 0 ? ScopeContext{} : contexts_[static_cast<std::size_t>(parent)];
  if (parent >= 0 && trace_.scopes[static_cast<std::size_t>(parent)].kind == ScopeKind::Operator) {
    const KinetoShapes& shapes = trace_.shapes[trace_.scopes[static_cast<std::size_t>(parent)].shapes];
    context.in_parameters = context.in_parameters || shapes.parameters > Bytes(0);
  }
  if (is_layer(scope, context)) context.execution = static_cast<std::int32_t>(at);
  if (is_backward(trace_, scope)) {
    context.backward = static_cast<std::int32_t>(at);
    context.execution = -1;
  }
  if (scope.kind == ScopeKind::Annotation && trace_.names[scope.name].starts_with("Optimizer.")) {
    context.in_optimizer = true;
  }
  return context;
}

void Attribution::leave_out(const KinetoKernel& kernel, NoLayer reason) {
  KernelSum& sum = result_.unattributed[static_cast<std::size_t>(reason)];
  ++sum.count;
  sum.time += kernel.duration;
}

void Attribution::add_kernel(const KinetoKernel& kernel, const KinetoCall& call, std::int32_t execution,
                             bool is_backward_kernel) {
  const auto at = static_cast<std::size_t>(execution);
  const auto [entry, is_new] = executions_.try_emplace(execution);
  KinetoExecution& found = entry->second;
  if (is_new) {
    found.scope = static_cast<std::uint32_t>(execution);
    found.first = trace_.scopes[at].start;
    found.recomputes = contexts_[at].backward >= 0;
  }
  KernelSum& sum = is_backward_kernel ? found.backward : found.forward;
  if (!is_backward_kernel && (sum.count == 0 || call.start < found.first)) found.first = call.start;
  extend(is_backward_kernel ? found.backward_extent : found.forward_extent,
         {kernel.start, kernel.start + kernel.duration}, sum.count == 0);
  ++sum.count;
  sum.time += kernel.duration;
}

void Attribution::attribute_call(const KinetoKernel& kernel, const KinetoCall& call, const ScopeContext& context) {
  const bool is_backward = context.backward >= 0;
  std::int32_t execution = context.execution;
  if (is_backward && execution < 0) {
    const auto forward = links_.forward_of(trace_.scopes[static_cast<std::size_t>(context.backward)]);
    if (forward) execution = contexts_[*forward].execution;
  }
  if (context.in_optimizer) {
    leave_out(kernel, NoLayer::Optimizer);
  } else if (execution < 0) {
    leave_out(kernel, is_backward ? NoLayer::Backward : NoLayer::Outside);
  } else {
    add_kernel(kernel, call, execution, is_backward);
  }
}

void Attribution::attribute(const KinetoKernel& kernel) {
  if (trace_.names[kernel.name].starts_with("nccl")) {
    leave_out(kernel, NoLayer::Communication);
    return;
  }
  const auto correlation_of = [&](std::uint32_t call) { return trace_.calls[call].correlation; };
  const auto found = std::ranges::lower_bound(by_correlation_, kernel.correlation, {}, correlation_of);
  if (kernel.correlation < 0 || found == by_correlation_.end() || correlation_of(*found) != kernel.correlation) {
    leave_out(kernel, NoLayer::NoCall);
    return;
  }
  const std::int32_t scope = tree_.of_call[*found];
  attribute_call(kernel, trace_.calls[*found], scope < 0 ? ScopeContext{} : contexts_[static_cast<std::size_t>(scope)]);
}

/// `aten::relu_`, but not `aten::__iand__`.
bool is_in_place(std::string_view name) {
  return name.starts_with("aten::") && name.ends_with('_') && !name.ends_with("__");
}

/// Only operators that lie in no other one of the layer decide. A mask that an operator in place draws takes the place
/// of its input: autograd keeps that.
void Attribution::add_place(std::uint32_t at, KinetoExecution& execution) const {
  const KinetoScope& scope = trace_.scopes[at];
  const std::string& name = trace_.names[scope.name];
  if (name == "aten::bernoulli_") execution.place = KinetoPlace::Other;
  const std::int32_t parent = tree_.parent[at];
  const auto around = static_cast<std::size_t>(std::max(parent, 0));
  const bool is_inner = parent >= 0 && trace_.scopes[around].kind == ScopeKind::Operator &&
                        contexts_[around].execution == contexts_[at].execution;
  if (is_inner || trace_.shapes[scope.shapes].input < Bytes(0) || execution.place == KinetoPlace::Other) return;
  execution.place = is_in_place(name) ? KinetoPlace::Input : KinetoPlace::Other;
}

/// The operators of each execution, in their order. Norms count their batches in place before they read their input.
void Attribution::add_shapes() {
  for (std::uint32_t i : tree_.order) {
    const KinetoScope& scope = trace_.scopes[i];
    const auto found = executions_.find(contexts_[i].execution);
    if (scope.kind != ScopeKind::Operator || found == executions_.end()) continue;
    const KinetoShapes& shapes = trace_.shapes[scope.shapes];
    KinetoExecution& execution = found->second;
    KinetoShapes& sums = execution.shapes;
    const bool counts = shapes.first < 0 && is_in_place(trace_.names[scope.name]);
    if (sums.input < Bytes(0) || (execution.counts && !counts && shapes.input >= Bytes(0))) {
      sums.input = shapes.input;
      sums.first = shapes.first;
      execution.counts = counts;
    }
    if (!counts) add_place(i, execution);
    if (!contexts_[i].in_parameters) sums.parameters = std::min(sums.parameters + shapes.parameters, kMostSummedBytes);
  }
}

KinetoExecutions Attribution::find() {
  result_.are_operators = !names_;
  by_correlation_.resize(trace_.calls.size());
  std::iota(by_correlation_.begin(), by_correlation_.end(), 0U);
  std::ranges::stable_sort(by_correlation_, {}, [&](std::uint32_t call) { return trace_.calls[call].correlation; });
  for (const KinetoKernel& kernel : trace_.kernels) attribute(kernel);
  add_shapes();
  for (auto& [scope, execution] : executions_) result_.all.push_back(execution);
  std::ranges::stable_sort(result_.all, {}, &KinetoExecution::first);
  return std::move(result_);
}

}  // namespace

void extend(KernelExtent& extent, const KernelExtent& other, bool is_first) {
  extent.start = is_first ? other.start : std::min(extent.start, other.start);
  extent.end = is_first ? other.end : std::max(extent.end, other.end);
}

bool fits_pattern(std::string_view name, std::string_view pattern) {
  std::size_t n = 0;
  std::size_t p = 0;
  std::size_t star = std::string_view::npos;
  std::size_t after_star = 0;
  while (n < name.size()) {
    if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      after_star = n;
    } else if (p < pattern.size() && pattern[p] == name[n]) {
      ++p;
      ++n;
    } else if (star != std::string_view::npos) {
      p = star + 1;
      n = ++after_star;
    } else {
      return false;
    }
  }
  return pattern.find_first_not_of('*', p) == std::string_view::npos;
}

KinetoExecutions find_executions(const KinetoTrace& trace, const std::optional<std::string>& layers) {
  return Attribution(trace, layers).find();
}

}  // namespace stagecraft
