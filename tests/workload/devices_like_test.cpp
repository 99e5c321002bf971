#include "sim/workload/catalogue.hpp"

#include <doctest/doctest.h>

#include <string>
#include <vector>

namespace stagecraft::devices_like_test {

using Names = std::vector<std::string>;

TEST_CASE("devices like a name: those with its model number") {
  CHECK(devices_like("H100") == Names{"H100-SXM5-80GB"});
  CHECK(devices_like("a100") == Names{"A100-SXM4-40GB", "A100-SXM4-80GB"});
  CHECK(devices_like("GeForce RTX 2080") == Names{"RTX-2080-Ti"});
}

TEST_CASE("devices like a name: more words in common decide among equal model numbers") {
  CHECK(devices_like("NVIDIA A100 80GB PCIe") == Names{"A100-SXM4-80GB"});
  CHECK(devices_like("V100_SXM") == Names{"V100-SXM2-16GB", "V100-SXM2-32GB"});
}

TEST_CASE("devices like a name: none for another model with the same memory, nor without a number") {
  CHECK(devices_like("MI300X-80GB").empty());
  CHECK(devices_like("80GB").empty());
  CHECK(devices_like("RTX-3090").empty());
  CHECK(devices_like("gpu").empty());
  CHECK(devices_like("").empty());
}

TEST_CASE("devices of other model numbers: sizes of memory and form factors do not matter") {
  CHECK(have_other_numbers("NVIDIA H100 80GB HBM3", "A100-SXM4-80GB"));
  CHECK_FALSE(have_other_numbers("NVIDIA A100-PG509-200", "A100-SXM4-40GB"));
  CHECK_FALSE(have_other_numbers("NVIDIA A100-SXM4-80GB", "a100"));
  CHECK_FALSE(have_other_numbers("NVIDIA Graphics Device", "A100-SXM4-80GB"));
  CHECK_FALSE(have_other_numbers("H100", "80GB"));
}

}  // namespace stagecraft::devices_like_test
