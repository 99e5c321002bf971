// Waiting and moving in transfers among ranks, and the model of traces.
#include "experiments/measured/kineto_transfers.hpp"

#include "experiments/measured/kineto_model.hpp"
#include "experiments/measured/kineto_remarks.hpp"
#include "experiments/measured/kineto_timeline.hpp"
#include "sim/base/error.hpp"
#include "sim/model/run_sums.hpp"
#include "tests/experiments/measured/kineto_text.hpp"

#include <doctest/doctest.h>

#include <cstddef>
#include <cstdint>
#include <random>
#include <string>
#include <variant>
#include <vector>

namespace stagecraft::kineto_transfers_test {
namespace {

using test::KinetoText;

constexpr const char* kAllReduce = "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevComm*)";
constexpr const char* kSendRecv = "ncclDevKernel_SendRecv(ncclDevComm*)";

std::string message(const std::string& collective, int elements, int group, const std::string& more = "") {
  return R"(,"Collective name":")" + collective + R"(","In msg nelems":)" + std::to_string(elements) +
         R"(,"Out msg nelems":)" + std::to_string(elements) + R"(,"dtype":"Half","Group size":)" +
         std::to_string(group) + R"(,"Process Group Name":"0")" + more;
}

TEST_CASE("kineto transfers: the time before the last start is waiting") {
  TransferTable table;
  const std::string said = message("allreduce", 1000, 3);
  table.add(KinetoText().kernel(kAllReduce, 100, 50, 1, said).kernel("gemm", 100, 9, 2).trace(0));
  table.add(KinetoText().kernel(kAllReduce, 130, 21, 1, said).trace(1));
  table.add(KinetoText().kernel(kAllReduce, 90.5, 60, 1, said).trace(2));
  const std::vector<TransferKind> kinds = table.kinds();
  REQUIRE(kinds.size() == 1);
  CHECK(kinds[0].kind == "allreduce");
  CHECK(kinds[0].group_size == 3);
  CHECK(kinds[0].operations == 1);
  CHECK(kinds[0].kernels == 3);
  CHECK(kinds[0].bytes == Bytes(6000));
  CHECK(kinds[0].moved_bytes == Bytes(6000));
  CHECK(kinds[0].waiting == 30000 + 39500);
  CHECK(kinds[0].moving == 20000 + 21000 + 20500);
  CHECK(kinds[0].alone == 0);
  CHECK(kinds[0].incomplete == 0);
}

TEST_CASE("kineto transfers: sends and receives belong together by their ranks") {
  const auto to = [](int rank) { return message("send", 10, 4, R"(,"Dst Rank":)" + std::to_string(rank)); };
  const auto from = [](int rank) { return message("recv", 10, 4, R"(,"Src Rank":)" + std::to_string(rank)); };
  TransferTable table;
  // Rank 1 receives from 0 while it sends to 2, which starts to receive last.
  table.add(KinetoText().kernel(kSendRecv, 10, 30, 1, to(1)).trace(0));
  table.add(KinetoText().kernel(kSendRecv, 5, 35, 1, from(0)).kernel(kSendRecv, 6, 44, 2, to(2)).trace(1));
  table.add(KinetoText().kernel(kSendRecv, 45, 5, 1, from(1)).trace(2));
  const std::vector<TransferKind> kinds = table.kinds();
  REQUIRE(kinds.size() == 1);
  CHECK(kinds[0].kind == "send, recv");
  CHECK(kinds[0].group_size == 2);
  CHECK(kinds[0].operations == 2);
  CHECK(kinds[0].waiting == 5000 + 39000);
  CHECK(kinds[0].moving == 30000 + 30000 + 5000 + 5000);
  CHECK(kinds[0].bytes == Bytes(80));
}

TEST_CASE("kineto transfers: a kernel that a trace lacks leaves the others alone, and not the later ones") {
  TransferTable table;
  KinetoText first;
  KinetoText second;
  for (int i = 0; i < 5; ++i) {
    if (i != 1) first.kernel(kSendRecv, 100 * i, 20, i);
    if (i != 3) second.kernel(kSendRecv, 100 * i + 5, 15, i);
  }
  table.add(first.trace(0));
  table.add(second.trace(1));
  const std::vector<TransferKind> kinds = table.kinds();
  REQUIRE(kinds.size() == 1);
  CHECK(kinds[0].kind == "SendRecv");
  CHECK(kinds[0].operations == 5);
  CHECK(kinds[0].kernels == 8);
  CHECK_FALSE(kinds[0].bytes);
  CHECK(kinds[0].waiting == 3 * 5000);
  CHECK(kinds[0].moving == 3 * 30000);
  CHECK(kinds[0].alone == 35000);
  CHECK(kinds[0].incomplete == 5);
  CHECK_THROWS_WITH_AS(table.add(second.trace(1)), doctest::Contains("is the trace of rank 1, as 'rank1.json' is"),
                       InputError);
}

// Transfers among random ranks of a group, one after the other, with known starts: all ends end together.
TEST_CASE("kineto transfers: the parts of random transfers") {
  std::mt19937 random(11);
  for (int round = 0; round < 50; ++round) {
    constexpr int kRanks = 4;
    std::vector<KinetoText> texts(kRanks);
    double at = 0;
    std::int64_t waiting = 0;
    std::int64_t moving = 0;
    for (int i = 0; i < 20; ++i) {
      int last = 0;
      std::vector<int> delays;
      for (int rank = 0; rank < kRanks; ++rank) delays.push_back(static_cast<int>(random() % 50));
      for (int delay : delays) last = std::max(last, delay);
      const int moved = 1 + static_cast<int>(random() % 30);
      for (std::size_t rank = 0; rank < kRanks; ++rank) {
        texts[rank].kernel(kAllReduce, at + delays[rank], last - delays[rank] + moved, i,
                           message("allreduce", 1, kRanks));
        waiting += 1000 * (last - delays[rank]);
        moving += 1000 * moved;
      }
      at += last + moved;
    }
    TransferTable table;
    for (int rank = 0; rank < kRanks; ++rank) table.add(texts[static_cast<std::size_t>(rank)].trace(rank));
    const TransferKind kind = table.kinds().front();
    CHECK(kind.operations == 20);
    CHECK(kind.waiting == waiting);
    CHECK(kind.moving == moving);
    CHECK(kind.incomplete == 0);
  }
}

TEST_CASE("kineto transfers: a kernel in the time of another one finds its own end") {
  TransferTable table;
  const std::string said = message("allreduce", 1, 2);
  table.add(KinetoText().kernel(kAllReduce, 0, 100, 1, said).kernel(kAllReduce, 10, 20, 2, said).trace(0));
  table.add(KinetoText().kernel(kAllReduce, 12, 18, 1, said).kernel(kAllReduce, 50, 50, 2, said).trace(1));
  const TransferKind kind = table.kinds().front();
  CHECK(kind.operations == 2);
  CHECK(kind.waiting == 52000);
  CHECK(kind.moving == 136000);
  CHECK(kind.alone == 0);
  CHECK(kind.incomplete == 0);
}

TEST_CASE("kineto timeline: the earliest and the latest times that traces may have fit") {
  constexpr const char* kBegin = R"({"distributedInfo":{"rank":)";
  constexpr const char* kKernel =
      R"(,"traceEvents":[{"ph":"X","cat":"kernel","name":"nccl","pid":0,"tid":7,"dur":1e12,"ts":)";
  TransferTable table;
  table.add(parse_kineto_trace(std::string(kBegin) + "0}" + kKernel + "-3e15}]}", "a.json"));
  table.add(parse_kineto_trace(
      std::string(kBegin) + R"(1},"baseTimeNanoseconds":3000000000000000000)" + kKernel + "3e15}]}", "b.json"));
  CHECK(table.kinds().front().operations == 2);
  std::vector<KinetoProfile> profiles(2);
  profiles[0].rank = 0;
  profiles[1].rank = 1;
  const Description timeline = describe_timeline(profiles, table.kernels());
  const auto rows = std::get<Detail::List>(timeline.record.front().second.value);
  REQUIRE(rows.size() == 2);
  const auto number = [&](std::size_t row, const std::string& key) {
    for (const auto& [name, value] : std::get<Detail::Record>(rows[row].value)) {
      if (name == key) return std::get<double>(value.value);
    }
    return -1.0;
  };
  CHECK(number(0, "start_s") == 0);
  CHECK(number(1, "start_s") == 9e9);
  CHECK(number(1, "end_s") == 9e9 + 1e6);
}

struct Interval {
  int start = 0;
  int end = 0;
};

/// The most pairs of the intervals from a position on with others that overlap them.
int most_pairs(const std::vector<Interval>& some, std::size_t at, std::vector<Interval> others) {
  if (at == some.size()) return 0;
  int most = most_pairs(some, at + 1, others);
  for (std::size_t i = 0; i < others.size(); ++i) {
    if (std::max(some[at].start, others[i].start) >= std::min(some[at].end, others[i].end)) continue;
    std::vector<Interval> rest = others;
    rest.erase(rest.begin() + static_cast<std::ptrdiff_t>(i));
    most = std::max(most, 1 + most_pairs(some, at + 1, rest));
  }
  return most;
}

TEST_CASE("kineto transfers: between two ranks as many as any choice of overlapping kernels has") {
  std::mt19937 random(5);
  for (int round = 0; round < 300; ++round) {
    TransferTable table;
    std::vector<std::vector<Interval>> ranks(2);
    for (int rank = 0; rank < 2; ++rank) {
      KinetoText text;
      for (int i = 0; i < 5; ++i) {
        const int start = static_cast<int>(random() % 40);
        const int duration = 1 + static_cast<int>(random() % 25);
        ranks[static_cast<std::size_t>(rank)].push_back({start, start + duration});
        text.kernel(kAllReduce, start, duration, i, message("allreduce", 1, 2));
      }
      table.add(text.trace(rank));
    }
    const TransferKind kind = table.kinds().front();
    CHECK(10 - static_cast<int>(kind.operations) == most_pairs(ranks[0], 0, ranks[1]));
    CHECK(kind.moving >= 0);
  }
}

TEST_CASE("kineto transfers: the operation in a kernel's name") {
  CHECK(nccl_operation("ncclKernel_" + std::string(100, 'A')) == std::string(64, 'A'));
  CHECK(nccl_operation(kAllReduce) == "AllReduce");
  CHECK(nccl_operation(kSendRecv) == "SendRecv");
  CHECK(nccl_operation("ncclKernel_Broadcast_RING_LL_Sum_int8_t(ncclDevComm*)") == "Broadcast");
  CHECK(nccl_operation("ncclOther") == "nccl");
  CHECK(nccl_operation("gemm_nccl").empty());
}

KinetoProfile profile_of_two() {
  KinetoProfile profile;
  profile.file = "folder/run.pt.trace.json.gz";
  profile.passes = 2;
  profile.layers = {{"a", {2, 4000000}, {2, 8000000}, Bytes(100), Bytes(40)}, {"b", {2, 1000000}, {}, Bytes(60), {}}};
  return profile;
}

TEST_CASE("kineto model: times of a pass, and the input of a layer as the output of the one before") {
  const LayerGraph graph = kineto_model({profile_of_two()}, {8, "A", false}).profiles.front();
  CHECK(graph.name == "run");
  CHECK(graph.microbatch_size == 8);
  CHECK(graph.origin == Origin::Measured);
  CHECK(graph.input == Bytes(100));
  REQUIRE(graph.layers.size() == 2);
  const Layer& a = graph.layers[LayerId(0)];
  CHECK(a.forward.value() == doctest::Approx(2e-3));
  CHECK(a.backward.value() == doctest::Approx(4e-3));
  CHECK(a.backward_weight.value() == doctest::Approx(2e-3));
  CHECK(a.output == Bytes(60));
  CHECK(a.stash == Bytes(100));
  CHECK(a.parameters == Bytes(40));
  CHECK(graph.layers[LayerId(1)].output == Bytes(0));
  CHECK(graph.layers[LayerId(1)].stash == Bytes(60));
  REQUIRE(graph.edges.size() == 1);
  CHECK(graph.edges[0].bytes == Bytes(60));
}

TEST_CASE("kineto model: only layers with parameters have gradients of them") {
  KinetoProfile profile = profile_of_two();
  profile.layers[1].backward = {2, 6000000};
  const auto weight = [&] {
    return kineto_model({profile}, {8, "A", true}).profiles.front().layers[LayerId(1)].backward_weight.value();
  };
  CHECK(weight() == 0);
  profile.layers[1].input = Bytes(-1);  // then its parameters are not known either
  CHECK(weight() == doctest::Approx(1.5e-3));
}

/// Layers with 100 bytes in between, of which these are in place, and another size before `cut`.
LayerGraph graph_in_place(const std::vector<bool>& in_place, std::size_t cut) {
  KinetoProfile profile = profile_of_two();
  profile.layers.clear();
  for (std::size_t i = 0; i < in_place.size(); ++i) {
    const std::string name = "l" + std::to_string(i);
    profile.layers.push_back({name, {2, 1}, {2, 1}, Bytes(i < cut ? 100 : 60), Bytes(0), 8, in_place[i]});
  }
  return kineto_model({profile}, {8, "A", false}).profiles.front();
}

Bytes stash_of_first(const LayerGraph& graph, std::size_t count) {
  std::vector<LayerId> layers;
  for (std::size_t i = 0; i < count; ++i) layers.emplace_back(static_cast<LayerId::rep>(i));
  return stash_of(graph, layers);
}

TEST_CASE("kineto model: what a layer in place keeps is what the next one reads") {
  const LayerGraph pair = graph_in_place({false, true, false}, 3);
  CHECK(stash_of_first(pair, 3) == Bytes(200));
  CHECK(stash_of_first(pair, 2) == Bytes(200));  // a stage that ends with it keeps it
  const LayerGraph row = graph_in_place({false, true, true, false}, 4);
  CHECK(stash_of_first(row, 4) == Bytes(200));
  CHECK(row.tensors.size() == 1);
  CHECK(stash_of_first(graph_in_place({false, true, false}, 2), 3) == Bytes(260));  // the next one reads another
  CHECK(stash_of_first(graph_in_place({false, true}, 2), 2) == Bytes(200));
  CHECK(stash_of_first(graph_in_place({true, false}, 2), 2) == Bytes(100));
}

TEST_CASE("kineto remarks: another batch, another device, no backward, no sizes") {
  KinetoProfile profile = profile_of_two();
  const auto remarks = [&](const std::string& device) { return model_remarks({profile}, {8, device, true}); };
  CHECK(remarks("A100-SXM4-40GB").empty());
  profile.layers[0].first = 8;
  profile.device_names = {"NVIDIA A100-SXM4-80GB"};
  CHECK(remarks("A100-SXM4-40GB").empty());
  CHECK(remarks("H100-like").empty());  // a device of the user's own
  profile.layers[0].first = 512;
  REQUIRE(remarks("H100-SXM5-80GB").size() == 2);
  CHECK(remarks("H100-SXM5-80GB")[0].find("'a' is 512, and --microbatch-size is 8") != std::string::npos);
  CHECK(remarks("H100-SXM5-80GB")[1].find("'NVIDIA A100-SXM4-80GB'") != std::string::npos);
  profile.layers = {{"a", {2, 4000000}, {}, Bytes(-1), {}}};
  REQUIRE(remarks("A").size() == 2);
  CHECK(remarks("A")[0].find("is of inference") != std::string::npos);
  CHECK(remarks("A")[1].find("all sizes of the model are 0") != std::string::npos);
  profile.unattributed[static_cast<std::size_t>(NoLayer::Backward)] = {1, 1000};
  CHECK(remarks("A")[0].find("no backward kernel") != std::string::npos);
}

TEST_CASE("kineto model: traces are stages one after the other; unknown sizes are told") {
  KinetoProfile second = profile_of_two();
  second.layers[0].input = Bytes(-1);
  const std::vector<KinetoProfile> stages{profile_of_two(), second};
  CHECK_THROWS_WITH_AS(static_cast<void>(kineto_model(stages, {8, "A", false})),
                       doctest::Contains("no shapes of the inputs of 'a'"), InputError);
  const LayerGraph graph = kineto_model(stages, {8, "A", true}).profiles.front();
  REQUIRE(graph.layers.size() == 4);
  CHECK(graph.layers[LayerId(2)].name == "stage1.a");
  CHECK(graph.layers[LayerId(1)].output == Bytes(0));
  CHECK(graph.source.find("the sizes of 1 layer were") != std::string::npos);
}

}  // namespace
}  // namespace stagecraft::kineto_transfers_test
