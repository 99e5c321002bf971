#include "tests/docs/all_reduce_figures.hpp"

#include "experiments/view/table.hpp"
#include "planners/shared/costs/cost_model.hpp"
#include "sim/base/error.hpp"
#include "sim/base/text.hpp"
#include "sim/io/platform_file.hpp"
#include "sim/schedule/all_reduce.hpp"
#include "tests/docs/mark_keys.hpp"
#include "tests/paths.hpp"

#include <cstdint>
#include <optional>
#include <variant>

namespace stagecraft::test {
namespace {

constexpr std::int64_t kBytes = std::int64_t{4} << 30;  ///< the largest size of most published runs

std::uint32_t count_of(const std::string& key, const std::string& value) {
  return static_cast<std::uint32_t>(required(key, parse_count(value)));
}

NodeForm& nodes_in(PlatformSpec& spec) {
  auto* form = std::get_if<NodeForm>(&spec.form);
  if (form == nullptr) throw InputError("the platform " + quote(spec.name) + " is not of nodes");
  return *form;
}

void set_nics(NodeForm& form, std::uint32_t nics) {
  NodeKind& kind = form.node_kinds[form.groups.front().kind];
  if (!kind.nic || nics == 0 || kind.device_count % nics != 0) {
    throw InputError("a node of " + std::to_string(kind.device_count) + " devices cannot have " + std::to_string(nics) +
                     " NICs");
  }
  kind.nic->per_device = true;
  kind.nic->shared_by = kind.device_count / nics;
}

BytesPerSecond bus_bandwidth(const PlatformSpec& spec) {
  const Platform platform = build_platform(spec);
  const auto n = static_cast<double>(platform.devices.size());
  const Seconds time =
      lowered_time(platform, MemberRings{all_devices(platform)}, Exchange::Kind::AllReduce, Bytes(0), Bytes(kBytes));
  return BytesPerSecond(2.0 * (n - 1.0) / n * static_cast<double>(kBytes) / time.value());
}

}  // namespace

std::string all_reduce_text(const std::string& argument) {
  PlatformSpec spec;
  std::optional<double> over;
  for (const auto& [key, value] : keys_of(argument)) {
    if (key == "all-reduce") {
      spec = read_platform_file(STAGECRAFT_SOURCE_DIR "/platforms/" + value + ".yaml");
    } else if (key == "nodes") {
      nodes_in(spec).groups = {{nodes_in(spec).groups.front().kind, count_of(key, value)}};
    } else if (key == "nics") {
      set_nics(nodes_in(spec), count_of(key, value));
    } else if (key == "algorithm" && value == "ring") {
      spec.collectives.algorithm = CollectiveSpec::Algorithm::Ring;
    } else if (key == "over") {
      over = required(key, parse_number(value));
    } else {
      throw InputError("an all-reduce has no " + key + "=" + value);
    }
  }
  const BytesPerSecond bandwidth = bus_bandwidth(spec);
  return over ? signed_percent(bandwidth.value() / (*over * 1e9) - 1.0) : format_human_bandwidth(bandwidth);
}

}  // namespace stagecraft::test
