#pragma once

#include "sim/model/detail.hpp"

#include <cstdint>
#include <string>

namespace stagecraft {

/// The pages that web/ builds.
enum class Page : std::uint8_t { Run, Study };

/// A page with its data. Whatever texts the data has, they cannot end the element that holds it.
[[nodiscard]] std::string with_data(Page page, const Detail::Record& data);

}  // namespace stagecraft
