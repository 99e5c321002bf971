// The door through which libFuzzer comes to the target that STAGECRAFT_FUZZ_TARGET names.
#include "tests/fuzz/targets.hpp"

#include <cstddef>
#include <cstdint>

// NOLINTNEXTLINE(readability-identifier-naming,misc-use-internal-linkage): the name that libFuzzer calls
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  // NOLINTNEXTLINE(cppcoreguidelines-pro-type-reinterpret-cast): bytes as characters
  stagecraft::fuzz::STAGECRAFT_FUZZ_TARGET({reinterpret_cast<const char*>(data), size});
  return 0;
}
