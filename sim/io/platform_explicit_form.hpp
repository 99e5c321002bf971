#pragma once

#include "sim/io/ids_by_name.hpp"
#include "sim/io/yaml_node.hpp"
#include "sim/model/platform_spec.hpp"

namespace stagecraft {

/// The devices, switches, links and routes of a platform file; for `parse_platform`.
[[nodiscard]] ExplicitForm read_explicit_form(const YamlNode& root, const IdsByName<DeviceKindId>& device_kinds);

}  // namespace stagecraft
