#pragma once

#include "sim/io/text_file.hpp"
#include "sim/model/detail.hpp"

#include <cstdint>

namespace stagecraft {

/// The pages that web/ builds.
enum class Page : std::uint8_t { Run, Study };

/// Writes a page with its data. Whatever texts the data has, they cannot end the element that holds it.
void write_page(Page page, Detail::Record data, const TextSink& sink);

}  // namespace stagecraft
