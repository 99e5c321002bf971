#pragma once

#include "sim/workload/architecture.hpp"
#include "sim/workload/device.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace stagecraft {

/// An entry of the catalogue, for lists.
struct WorkloadInfo {
  std::string name;
  std::string summary;
  std::string source;
  friend bool operator==(const WorkloadInfo&, const WorkloadInfo&) = default;
};

/// The networks that `find_architecture` knows, in the order of the catalogue.
[[nodiscard]] std::vector<WorkloadInfo> known_architectures();

/// The device kinds that `find_device` knows.
[[nodiscard]] std::vector<WorkloadInfo> known_devices();

/// A network by name; none if the catalogue has no such name.
[[nodiscard]] std::optional<Architecture> find_architecture(std::string_view name);

/// A network for images by name, at `image` pixels along an edge; none if the catalogue has no such name or the network
/// does not take images. **Throws** InputError for an image that the network cannot bear.
[[nodiscard]] std::optional<Architecture> find_architecture(std::string_view name, std::int64_t image);

/// A network for sequences by name, with `sequence` tokens in a sample (that its encoder reads, if it has one); none if
/// the catalogue has no such name or the network does not take sequences.
/// **Throws** InputError for a sequence that the network cannot bear.
[[nodiscard]] std::optional<Architecture> find_sequence_network(std::string_view name, std::int64_t sequence);

/// A device kind by name; none if the catalogue has no such name.
[[nodiscard]] std::optional<DeviceDescription> find_device(std::string_view name);

/// The same, computing in that precision, with the efficiency that goes with it.
/// **Throws** InputError if the device does not have it.
[[nodiscard]] std::optional<DeviceDescription> find_device(std::string_view name, Precision precision);

/// The device of that name among `own`, or else in the catalogue.
[[nodiscard]] std::optional<DeviceDescription> find_device(std::string_view name,
                                                           const std::vector<DeviceDescription>& own);

/// The device kinds that another name for one may mean, such as `H100-SXM5-80GB` for `H100` or `NVIDIA H100 80GB HBM3`:
/// of those with the same model number the ones that share most words with it. Empty if there are none.
[[nodiscard]] std::vector<std::string> devices_like(std::string_view name);

/// Whether two names of devices have different model numbers, such as `NVIDIA H100 80GB HBM3` and `A100-SXM4-80GB`. Not
/// if one of them has none.
[[nodiscard]] bool have_other_numbers(std::string_view a, std::string_view b);

}  // namespace stagecraft
