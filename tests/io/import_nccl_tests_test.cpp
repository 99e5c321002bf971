// Tables of nccl-tests.
#include "sim/io/import_nccl_tests.hpp"

#include <doctest/doctest.h>

#include <string>
#include <vector>

namespace stagecraft::import_nccl_tests_test {
namespace {

const std::string kColumns =
    "#       size         count      type   redop    root     time   algbw   busbw #wrong     time   algbw   busbw "
    "#wrong\n"
    "#        (B)    (elements)                               (us)  (GB/s)  (GB/s)            (us)  (GB/s)  (GB/s)\n";

std::string rank(const std::string& number, const std::string& host, const std::string& device) {
  return "#  Rank  " + number + " Group  0 Pid 12 on " + host + " device  " + device + " [0x07] NVIDIA A100\n";
}

// 3 / 2 of 20.74 GB/s is what an all-reduce among four counts as bus bandwidth; half of it what a reduce-scatter does.
TEST_CASE("import nccl-tests: several tables of a file, with their exchanges and both times of each row") {
  std::string four;
  for (const char* number : {"0", "1", "2", "3"}) four += rank(number, "a", number);
  const std::string text =
      "# nThread 1 nGpus 4 minBytes 8 maxBytes 1048576 step: 2(factor) warmup iters: 5 iters: 20\n" + four + "#\n" +
      kColumns +
      "           0             0     float     sum      -1     5.21    0.00    0.00      0     5.20    0.00    0.00   "
      " 0\n" +
      "     1048576        262144     float     sum      -1    50.55   20.74   31.11      0    50.00   20.97   31.46   "
      " 0\n" +
      "NCCL INFO another line\n# Avg bus bandwidth    : 31.2\n#\n" + four + kColumns +
      "     1048576         65536     float     sum      -1    25.28   41.48   31.11      0      N/A     N/A     N/A  "
      "N/A\n" +
      "# Collective test starting: all_gather_perf\n" + rank("0", "a", "0") + rank("1", "b", "0") + kColumns +
      "     1048576         65536     float    none      -1    25.28   41.48   20.74      0    25.00   41.94   20.97   "
      " 0\n";
  const std::vector<NcclTable> tables = parse_nccl_tests(text, "t");
  REQUIRE(tables.size() == 3);
  CHECK(tables[0].kind == Exchange::Kind::AllReduce);
  CHECK(tables[1].kind == Exchange::Kind::ReduceScatter);
  CHECK(tables[2].kind == Exchange::Kind::AllGather);
  CHECK(tables[0].ranks == std::vector<NcclRank>{{0, 0}, {0, 1}, {0, 2}, {0, 3}});
  CHECK(tables[2].ranks == std::vector<NcclRank>{{0, 0}, {1, 0}});
  REQUIRE(tables[0].times.size() == 2);
  CHECK(tables[0].times[0].size == Bytes(1048576));
  CHECK(tables[0].times[0].time.value() == doctest::Approx(50.55e-6));
  CHECK(tables[0].times[1].time.value() == doctest::Approx(50e-6));
  CHECK(tables[0].times[1].place == InputPlace{"t", 10, 89, ""});
  CHECK(tables[1].times.size() == 1);
}

TEST_CASE("import nccl-tests: ranks that see one device each are on different ones") {
  const std::string text = rank("0", "b", "0") + rank("1", "b", "0") + rank("2", "a", "0") + rank("3", "a", "0") +
                           "# size time algbw busbw redop\n8 1.5 2.0 3.0 sum\n";
  const std::vector<NcclTable> tables = parse_nccl_tests(text, "t");
  REQUIRE(tables.size() == 1);
  CHECK(tables[0].kind == Exchange::Kind::AllReduce);
  CHECK(tables[0].ranks == std::vector<NcclRank>{{0, 0}, {0, 1}, {1, 0}, {1, 1}});
}

}  // namespace
}  // namespace stagecraft::import_nccl_tests_test
