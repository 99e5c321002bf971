#include "experiments/measured/kineto_view.hpp"

#include "experiments/view/table.hpp"
#include "sim/base/counted.hpp"
#include "sim/base/text.hpp"

#include <fmt/core.h>

#include <array>
#include <cstdint>
#include <utility>

namespace stagecraft {
namespace {

struct ReasonWords {
  const char* text;
  const char* key;
};

constexpr std::array<ReasonWords, kNoLayers> kReasons{{{"communication", "communication"},
                                                       {"optimizer", "optimizer"},
                                                       {"backward of no layer", "backward_of_no_layer"},
                                                       {"outside layers", "outside_layers"},
                                                       {"no launch", "no_launch"}}};

std::string human(Nanoseconds time) { return format_human_seconds(to_seconds(time)); }

std::string size_or_dash(Bytes size) { return size < Bytes(0) ? "-" : format_human_bytes(size); }

Detail size_or_null(Bytes size) { return size < Bytes(0) ? Detail() : Detail(size.value()); }

Detail::Record sum_record(const KernelSum& sum) {
  return {{"kernels", static_cast<std::int64_t>(sum.count)}, {"time_s", to_seconds(sum.time).value()}};
}

Detail rank_detail(const KinetoProfile& profile) { return profile.rank ? Detail(*profile.rank) : Detail(); }

std::string layers_text(const KinetoProfile& profile) {
  Table table{{"layer", "forward", "backward", "kernels", "input", "parameters"}, {}};
  const auto passes = static_cast<double>(profile.passes);
  for (const KinetoLayer& layer : profile.layers) {
    table.rows.push_back({layer.name, format_human_seconds(to_seconds(layer.forward.time) / passes),
                          format_human_seconds(to_seconds(layer.backward.time) / passes),
                          format_number(static_cast<double>(layer.forward.count + layer.backward.count) / passes),
                          size_or_dash(layer.input), format_human_bytes(layer.parameters)});
  }
  return to_text(table);
}

Detail::List layers_list(const KinetoProfile& profile) {
  Detail::List list;
  for (const KinetoLayer& layer : profile.layers) {
    list.emplace_back(Detail::Record{{"name", layer.name},
                                     {"forward", sum_record(layer.forward)},
                                     {"backward", sum_record(layer.backward)},
                                     {"input_bytes", size_or_null(layer.input)},
                                     {"parameters_bytes", layer.parameters.value()}});
  }
  return list;
}

/// The kernels of all layers, in the forward or in the backward.
KernelSum sum_of(const KinetoProfile& profile, KernelSum KinetoLayer::* part) {
  KernelSum sum;
  for (const KinetoLayer& layer : profile.layers) {
    sum.count += (layer.*part).count;
    sum.time += (layer.*part).time;
  }
  return sum;
}

std::string sums_text(const KinetoProfile& profile) {
  Table table{{"kernels of", "kernels", "time", "share"}, {}};
  const auto add = [&](const std::string& name, const KernelSum& sum) {
    const Nanoseconds all = profile.kernels.time;
    const double share = all == 0 ? 0 : static_cast<double>(sum.time) / static_cast<double>(all);
    table.rows.push_back({name, std::to_string(sum.count), human(sum.time), percent(share)});
  };
  add("layers, forward", sum_of(profile, &KinetoLayer::forward));
  add("layers, backward", sum_of(profile, &KinetoLayer::backward));
  for (std::size_t i = 0; i < kNoLayers; ++i) {
    if (profile.unattributed[i].count > 0) add(kReasons[i].text, profile.unattributed[i]);
  }
  add("all", profile.kernels);
  return to_text(table);
}

std::optional<BytesPerSecond> bandwidth_of(const TransferKind& kind) {
  if (!kind.bytes || kind.moving <= 0) return std::nullopt;
  return BytesPerSecond(static_cast<double>(kind.moved_bytes.value()) / to_seconds(kind.moving).value());
}

std::vector<std::string> transfer_row(const TransferKind& kind) {
  const auto bandwidth = bandwidth_of(kind);
  return {kind.kind,
          kind.group_size < 0 ? "-" : std::to_string(kind.group_size),
          std::to_string(kind.operations),
          std::to_string(kind.kernels),
          kind.bytes ? format_human_bytes(*kind.bytes) : "-",
          human(kind.waiting),
          human(kind.moving),
          human(kind.alone),
          bandwidth ? format_human_bandwidth(*bandwidth) : "-"};
}

Detail::Record transfer_record(const TransferKind& kind) {
  const auto bandwidth = bandwidth_of(kind);
  return {{"kind", kind.kind},
          {"group_size", kind.group_size < 0 ? Detail() : Detail(kind.group_size)},
          {"operations", static_cast<std::int64_t>(kind.operations)},
          {"incomplete", static_cast<std::int64_t>(kind.incomplete)},
          {"kernels", static_cast<std::int64_t>(kind.kernels)},
          {"bytes", kind.bytes ? Detail(kind.bytes->value()) : Detail()},
          {"waiting_s", to_seconds(kind.waiting).value()},
          {"moving_s", to_seconds(kind.moving).value()},
          {"alone_s", to_seconds(kind.alone).value()},
          {"bandwidth_bytes_per_second", bandwidth ? Detail(bandwidth->value()) : Detail()}};
}

}  // namespace

Description describe_kineto(const KinetoProfile& profile) {
  Detail::Record unattributed;
  for (std::size_t i = 0; i < kNoLayers; ++i) {
    unattributed.emplace_back(kReasons[i].key, sum_record(profile.unattributed[i]));
  }
  const std::string rank = profile.rank ? fmt::format(" (rank {})", *profile.rank) : "";
  std::string text = fmt::format("{}{}: {} in {}\n\n", profile.file, rank, counted(profile.kernels.count, "kernel"),
                                 counted(profile.passes, "forward pass"));
  if (!profile.layers.empty()) text += layers_text(profile) + "\n";
  text += sums_text(profile) + "\n";
  text += fmt::format("the devices are busy for {}, and idle for {} between kernels\n", human(profile.busy),
                      human(profile.idle));
  return {text,
          {{"file", profile.file},
           {"rank", rank_detail(profile)},
           {"layers_are", profile.has_modules ? "ranges" : "operators"},
           {"passes", profile.passes},
           {"kernels", sum_record(profile.kernels)},
           {"layers", layers_list(profile)},
           {"unattributed", std::move(unattributed)},
           {"busy_s", to_seconds(profile.busy).value()},
           {"idle_s", to_seconds(profile.idle).value()}}};
}

Description describe_transfers(const std::vector<TransferKind>& kinds, std::size_t ranks) {
  Table table{{"transfer", "ranks", "transfers", "kernels", "bytes", "waiting", "moving", "alone", "bandwidth"}, {}};
  Detail::List list;
  for (const TransferKind& kind : kinds) {
    table.rows.push_back(transfer_row(kind));
    list.emplace_back(transfer_record(kind));
  }
  const std::string text =
      kinds.empty() ? "" : fmt::format("transfers in {}\n\n{}", counted(ranks, "trace"), to_text(table));
  return {text, {{"transfers", std::move(list)}}};
}

std::vector<std::string> transfer_warnings(const std::vector<TransferKind>& kinds, std::size_t ranks) {
  std::vector<std::string> warnings;
  if (ranks < 2) return warnings;
  for (const TransferKind& kind : kinds) {
    if (kind.incomplete == 0) continue;
    warnings.push_back(fmt::format(
        "{}: of {} of {} not all ends were found, so that more of their time may be waiting; either files of ranks are "
        "missing, or the clocks of ranks differ",
        kind.kind, kind.incomplete, counted(kind.operations, "transfer")));
  }
  return warnings;
}

}  // namespace stagecraft
