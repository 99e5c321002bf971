#include "experiments/measured/kineto_remarks.hpp"

#include "sim/base/text.hpp"
#include "sim/workload/catalogue.hpp"

#include <fmt/core.h>

#include <algorithm>

namespace stagecraft {
namespace {

using Lines = std::vector<std::string>;

/// Models whose first dimension is the sequence exist, so that another number may be right.
void add_batch(const KinetoLayer& first, std::int64_t samples, Lines& lines) {
  if (first.first < 0 || first.first == samples) return;
  lines.push_back(fmt::format(
      "warning: the first dimension of the input of {} is {}, and --microbatch-size is {}; if that dimension "
      "counts samples, the times and sizes are those of {}",
      quote(first.name), first.first, samples, first.first));
}

void add_device(const KinetoProfile& profile, const std::string& kind, Lines& lines) {
  const auto is_other = [&](const std::string& name) { return have_other_numbers(name, kind); };
  if (!find_device(kind) || profile.device_names.empty()) return;
  if (!std::ranges::all_of(profile.device_names, is_other)) return;
  lines.push_back(fmt::format("warning: {} was taken on {}, and --device is {}", profile.file,
                              quote(profile.device_names.front()), quote(kind)));
}

void add_backward(const KinetoProfile& profile, Lines& lines) {
  const auto has_backward = [](const KinetoLayer& layer) { return layer.backward.count > 0; };
  if (std::ranges::any_of(profile.layers, has_backward)) return;
  const bool is_inference = profile.unattributed[static_cast<std::size_t>(NoLayer::Backward)].count == 0;
  lines.push_back(fmt::format("note: {}; the backwards of its layers are 0 s",
                              is_inference ? profile.file + " is of inference: it has no backward kernels"
                                           : "no backward kernel of " + profile.file + " belongs to a layer"));
}

bool has_sizes(const KinetoProfile& profile) {
  return std::ranges::any_of(profile.layers, [](const KinetoLayer& layer) { return layer.input >= Bytes(0); });
}

}  // namespace

std::vector<std::string> model_remarks(const std::vector<KinetoProfile>& profiles, const KinetoModelChoice& choice) {
  Lines lines;
  add_batch(profiles.front().layers.front(), choice.microbatch_size, lines);
  for (const KinetoProfile& profile : profiles) add_device(profile, choice.device_kind, lines);
  for (const KinetoProfile& profile : profiles) add_backward(profile, lines);
  if (std::ranges::none_of(profiles, has_sizes)) {
    lines.emplace_back("note: all sizes of the model are 0: plans of it say nothing about memory and transfers");
  }
  return lines;
}

}  // namespace stagecraft
