#pragma once

#include "sim/io/hf_keys.hpp"
#include "sim/workload/vit.hpp"

#include <string>
#include <vector>

namespace stagecraft {

/// The sizes of a Vision Transformer with the head of `ViTForImageClassification`, which has no pooler. `notes` gets
/// what is read otherwise than written. **Throws** InputError naming the place of the first defect.
[[nodiscard]] VitSize read_hf_vit(HfKeys& keys, std::vector<std::string>& notes);

}  // namespace stagecraft
