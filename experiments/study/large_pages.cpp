#include "experiments/study/large_pages.hpp"

#include <sys/mman.h>

#include <cstdint>
#include <fstream>
#include <string>

namespace stagecraft {
namespace {

constexpr std::uintptr_t kLargePage = std::uintptr_t{2} << 20;
constexpr int kCollapse = 25;  // MADV_COLLAPSE, which the C library does not name yet

}  // namespace

void use_large_pages() {
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) {
    if (!line.ends_with("[heap]")) continue;
    const std::size_t dash = line.find('-');
    const std::uintptr_t first = std::stoull(line.substr(0, dash), nullptr, 16);
    const std::uintptr_t last = std::stoull(line.substr(dash + 1), nullptr, 16);
    const std::uintptr_t begin = (first + kLargePage - 1) / kLargePage * kLargePage;
    const std::uintptr_t end = last / kLargePage * kLargePage;
    // NOLINTNEXTLINE(performance-no-int-to-ptr): the system names its addresses so
    if (begin < end) madvise(reinterpret_cast<void*>(begin), end - begin, kCollapse);
    return;
  }
}

}  // namespace stagecraft
