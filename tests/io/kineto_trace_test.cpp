// Traces of the PyTorch profiler as the reader takes them.
#include "sim/io/kineto_trace.hpp"

#include "sim/base/error.hpp"
#include "sim/io/kineto_event.hpp"
#include "tests/random_cases.hpp"
#include "tests/temporary_folder.hpp"

#include <doctest/doctest.h>
#include <zlib.h>

#include <cstddef>
#include <fstream>
#include <string>
#include <vector>

namespace stagecraft::kineto_trace_test {
namespace {

std::string traced(const std::string& events) {
  return R"({"schemaVersion":1,"distributedInfo":{"backend":"nccl","rank":3,"world_size":8,"pg_config":[{)"
         R"("ranks":[0,1],"rank":9}]},"deviceProperties":[{"id":0,"name":"NVIDIA H100 NVL",)"
         R"("more":{"name":"no"},"rank":7},)"
         R"({"name":"NVIDIA H100 NVL"},)"
         R"({"id":2,"name":"Tesla T4"}],"name":"none","baseTimeNanoseconds":1000000000,)"
         R"("traceEvents":[)" +
         events + R"(],"traceName":"a.json","rank":5})";
}

void write(const std::string& path, const std::string& content) { std::ofstream(path, std::ios::binary) << content; }

void compress(const std::string& path, const std::string& content) {
  gzFile file = gzopen(path.c_str(), "wb");
  REQUIRE(gzwrite(file, content.data(), static_cast<unsigned>(content.size())) == static_cast<int>(content.size()));
  gzclose(file);
}

std::string kernel(const std::string& time, const std::string& duration) {
  return R"({"ph":"X","cat":"kernel","name":"gemm","pid":0,"tid":7,"ts":)" + time + R"(,"dur":)" + duration +
         R"(,"args":{"device":0,"stream":7,"correlation":11,"grid":[1,2,3]}})";
}

TEST_CASE("kineto: microseconds become whole nanoseconds, exactly where they have three decimals") {
  CHECK(nanoseconds_of("0") == 0);
  CHECK(nanoseconds_of("7") == 7000);
  CHECK(nanoseconds_of("1739425750454660") == 1739425750454660000);
  CHECK(nanoseconds_of("4458676522690.655") == 4458676522690655);
  CHECK(nanoseconds_of("1739425750454660.001") == 1739425750454660001);
  CHECK(nanoseconds_of("0.5") == 500);
  CHECK(nanoseconds_of("0.0004") == 0);
  CHECK(nanoseconds_of("0.0005") == 1);
  CHECK(nanoseconds_of("-1.25") == -1250);
  CHECK(nanoseconds_of("1.5e3") == 1500000);
  CHECK(nanoseconds_of("3000000000000000") == 3000000000000000000);
  CHECK_FALSE(nanoseconds_of("3000000000000001"));
  CHECK_FALSE(nanoseconds_of("1e300"));
  CHECK(to_seconds(346344000).value() == 0.346344);
}

TEST_CASE("kineto: what a trace says of ranks, kernels, calls, ranges, links and messages") {
  const KinetoTrace trace = parse_kineto_trace(traced(kernel("20.5", "2.125") + R"j(,
{"ph":"X","cat":"cuda_runtime","name":"cudaLaunchKernel","pid":1,"tid":-5,"ts":18,"dur":1,"args":{"correlation":11}},
{"ph":"X","cat":"cuda_runtime","name":"cudaFree","pid":1,"tid":-5,"ts":19,"dur":1},
{"ph":"X","cat":"cpu_op","name":"aten::linear","pid":1,"tid":-5,"ts":17,"dur":3,
 "args":{"Sequence number":4,"Fwd thread id":0,"Input Dims":[[2,3],[5,3],[5],[]],
 "Input type":["c10::Half","c10::Half","c10::Half","Scalar"]}},
{"ph":"X","cat":"cpu_op","name":"aten::cat","pid":1,"tid":2,"ts":17,"dur":3,
 "args":{"Input Dims":[[[2,3],[4]],[]],"Input type":["float","Scalar"],"Sequence number":18446744073709551615}},
{"ph":"X","cat":"python_function","name":"nn.Module: Linear_0","pid":1,"tid":2,"ts":16,"dur":9},
{"ph":"X","cat":"python_function","name":"module.py(1): forward","pid":1,"tid":2,"ts":16,"dur":9},
{"ph":"X","cat":"user_annotation","name":"ProfilerStep#1","pid":1,"tid":2,"ts":1,"dur":90},
{"ph":"X","cat":"Trace","name":"Span","pid":"Spans","tid":"PyTorch Profiler","ts":1},
{"ph":"s","cat":"fwdbwd","id":6,"pid":1,"tid":2,"ts":17},{"ph":"f","cat":"fwdbwd","id":6,"pid":1,"tid":-5,"ts":30},
{"ph":"s","cat":"ac2g","id":11,"pid":1,"tid":-5,"ts":18},
{"ph":"M","name":"process_name","pid":1,"tid":0,"ts":3,"args":{"name":"python"}},
{"ph":"X","cat":"gpu_memcpy","name":"Memcpy","pid":0,"tid":7,"ts":40,"dur":1.5,"args":{"bytes":8}},
{"ph":"X","cat":"kernel","name":"ncclDevKernel_SendRecv(a)","pid":0,"tid":8,"ts":50,"dur":4,"args":{"device":0,
 "stream":8,"correlation":12,"Collective name":"send","In msg nelems":100,"Out msg nelems":0,"Group size":4,
 "dtype":"BFloat16","Dst Rank":2,"Process Group Name":"5","Process Group Ranks":[0,1,2,3]}})j"),
                                               "a.json");
  CHECK(trace.rank == 3);
  CHECK(trace.world_size == 8);
  CHECK(trace.device_names == std::vector<std::string>{"NVIDIA H100 NVL", "Tesla T4"});
  CHECK(trace.base_time == 1000000000);
  REQUIRE(trace.kernels.size() == 2);
  CHECK(trace.kernels[0].start == 20500);
  CHECK(trace.kernels[0].duration == 2125);
  CHECK(trace.kernels[0].correlation == 11);
  CHECK(trace.names[trace.kernels[0].name] == "gemm");
  CHECK(trace.kernels[0].message == -1);
  REQUIRE(trace.calls.size() == 1);
  REQUIRE(trace.scopes.size() == 4);
  CHECK(trace.scopes[0].thread == trace.calls[0].thread);
  CHECK(trace.scopes[0].end == 20000);
  CHECK(trace.scopes[0].sequence == 4);
  CHECK(trace.shapes[trace.scopes[0].shapes] == KinetoShapes{Bytes(12), Bytes(40), 2});
  CHECK(trace.shapes[trace.scopes[1].shapes] == KinetoShapes{Bytes(40), Bytes(0)});
  CHECK(trace.scopes[1].sequence == -1);
  CHECK(trace.scopes[2].kind == ScopeKind::Module);
  CHECK(trace.scopes[3].kind == ScopeKind::Annotation);
  CHECK(trace.shapes[trace.scopes[3].shapes] == KinetoShapes{});
  REQUIRE(trace.links.size() == 2);
  CHECK(trace.links[0].starts);
  CHECK(trace.links[1].thread == trace.calls[0].thread);
  REQUIRE(trace.messages.size() == 1);
  CHECK(trace.messages[0].bytes == Bytes(200));
  CHECK(trace.messages[0].target_rank == 2);
  CHECK(trace.messages[0].source_rank == -1);
  CHECK(trace.names[trace.messages[0].group] == "5 0,1,2,3");
}

TEST_CASE("kineto: a list of events is a trace, too") {
  const KinetoTrace trace = parse_kineto_trace("[" + kernel("1", "2") + ",\n" + kernel("3", "4") + "]", "a.json");
  CHECK(trace.kernels.size() == 2);
  CHECK_FALSE(trace.rank);
}

TEST_CASE("kineto: shapes of operators with parameters and of lists of tensors") {
  using Inputs = std::vector<KinetoInput>;
  const Inputs table{{50000, "c10::BFloat16"}, {32, "long int"}};
  CHECK(kineto_shapes("aten::embedding", table) == KinetoShapes{Bytes(256), Bytes(100000)});
  CHECK(kineto_shapes("aten::gather", table) == KinetoShapes{Bytes(100000), Bytes(0)});
  const Inputs norm{{64, "float"}, {1, "ScalarList"}, {8, "float"}, {8, "float"}};
  CHECK(kineto_shapes("aten::layer_norm", norm) == KinetoShapes{Bytes(256), Bytes(64)});
  CHECK(kineto_shapes("aten::linear", {{6, "float"}, {15, "float"}, {1, ""}}) == KinetoShapes{Bytes(24), Bytes(60)});
  CHECK(kineto_shapes("aten::empty", {{1, "ScalarList"}, {1, ""}}) == KinetoShapes{Bytes(-1), Bytes(0)});
}

TEST_CASE("kineto: a compressed file is read as the same that is not") {
  const test::TemporaryFolder folder;
  std::string events = kernel("0", "0.5");
  for (int i = 1; i < 20000; ++i) events += ",\n" + kernel(std::to_string(i), "0.25");
  write(folder / "a.json", traced(events));
  compress(folder / "a.json.gz", traced(events));
  const KinetoTrace plain = read_kineto_trace(folder / "a.json");
  const KinetoTrace packed = read_kineto_trace(folder / "a.json.gz");
  REQUIRE(plain.kernels.size() == 20000);
  REQUIRE(packed.kernels.size() == 20000);
  Nanoseconds sum = 0;
  for (const KinetoKernel& each : packed.kernels) sum += each.duration;
  CHECK(sum == 500 + 19999 * 250);
  CHECK(packed.kernels.back().start == plain.kernels.back().start);
}

TEST_CASE("kineto: every beginning of a file is refused, compressed or not") {
  const test::TemporaryFolder folder;
  const std::string text = traced(kernel("1.5", "2") + ",\n" + kernel("3", "1e1"));
  for (std::size_t length = 0; length < text.size(); ++length) {
    CAPTURE(length);
    CHECK_THROWS_AS(static_cast<void>(parse_kineto_trace(text.substr(0, length), "a.json")), InputError);
  }
  compress(folder / "a.json.gz", text);
  std::ifstream stream(folder / "a.json.gz", std::ios::binary);
  const std::string packed{std::istreambuf_iterator<char>(stream), {}};
  for (std::size_t length = 0; length < packed.size(); ++length) {
    CAPTURE(length);
    write(folder / "cut.json.gz", packed.substr(0, length));
    CHECK_THROWS_AS(static_cast<void>(read_kineto_trace(folder / "cut.json.gz")), InputError);
  }
}

std::string content_of(const std::string& path) {
  std::ifstream stream(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), {}};
}

TEST_CASE("kineto: compressed parts may follow each other, and nothing else may follow") {
  const test::TemporaryFolder folder;
  std::string events = kernel("0", "0.5");
  for (int i = 1; i < 9000; ++i) events += ",\n" + kernel(std::to_string(i), std::to_string(i % 77));
  const std::string text = traced(events);
  compress(folder / "a.gz", text.substr(0, 100000));
  compress(folder / "b.gz", text.substr(100000));
  compress(folder / "none.gz", "");
  const std::string none = content_of(folder / "none.gz");
  const std::string both = content_of(folder / "a.gz") + none + content_of(folder / "b.gz");
  write(folder / "both.gz", both + none);
  CHECK(read_kineto_trace(folder / "both.gz").kernels.size() == 9000);
  for (const std::string& tail : {std::string("x"), std::string(1, '\0'), std::string("\x1f"), std::string("\x1f\x8b"),
                                  std::string("\x1fgarbage"), std::string("\x1f\x8b garbage"), text}) {
    CAPTURE(tail.substr(0, 10));
    write(folder / "tail.gz", both + tail);
    CHECK_THROWS_AS(static_cast<void>(read_kineto_trace(folder / "tail.gz")), InputError);
  }
  for (const std::string& tail : {std::string(1, '\0'), std::string("\0x", 2), std::string("\n\0", 2)}) {
    CHECK_THROWS_WITH_AS(static_cast<void>(parse_kineto_trace(text + tail, "a.json")),
                         doctest::Contains("found a byte that is 0"), InputError);
  }
  CHECK(parse_kineto_trace(text + "\n \n", "a.json").kernels.size() == 9000);
}

/// A kernel of NCCL in a group with these ranks, in JSON.
std::string of_group(const std::string& ranks) {
  return R"({"ph":"X","cat":"kernel","name":"nccl","pid":0,"tid":8,"ts":50,"dur":4,"args":{"Collective name":"send",)"
         R"("Process Group Ranks":)" +
         ranks + "}}";
}

TEST_CASE("kineto: ranks of a group as a list and as a text, and no more of them than fit") {
  const KinetoTrace trace = parse_kineto_trace(
      "[" + of_group("[0, 1]") + "," + of_group(R"("[0, 1]")") + "," + of_group("[0,1,2]") + "]", "a.json");
  REQUIRE(trace.messages.size() == 3);
  CHECK(trace.messages[0].group == trace.messages[1].group);
  CHECK(trace.messages[0].group != trace.messages[2].group);
  std::string ranks = "0";
  for (int i = 1; i < 150000; ++i) ranks += "," + std::to_string(i);
  const std::string fits = "[" + of_group("[" + ranks + "]") + "]";
  CHECK(parse_kineto_trace(fits, "a.json").names[1].size() == ranks.size() + 1);
  for (int i = 150000; i < 170000; ++i) ranks += "," + std::to_string(i);
  CHECK_THROWS_WITH_AS(static_cast<void>(parse_kineto_trace("[" + of_group("[" + ranks + "]") + "]", "a.json")),
                       doctest::Contains("expected a list of at most 1048576 bytes"), InputError);
}

KinetoEvent kernel_event(const std::string& name) {
  KinetoEvent event;
  event.set(KinetoField::Phase, "X");
  event.set(KinetoField::Category, "kernel");
  event.set(KinetoField::Name, name);
  event.set(KinetoField::Time, 1);
  event.set(KinetoField::Duration, 1);
  return event;
}

TEST_CASE("kineto: names have a limit, one by one and together; those of other events have none") {
  const auto named = [](const std::string& category, const std::string& name) {
    return R"({"ph":"X","cat":")" + category + R"(","name":")" + name + R"(","pid":1,"tid":7,"ts":1,"dur":1})";
  };
  const std::string longest(std::size_t{1} << 20, 'a');
  CHECK(parse_kineto_trace("[" + named("kernel", longest) + "]", "a.json").names[0] == longest);
  CHECK(parse_kineto_trace("[" + named("other", longest + "a") + "]", "a.json").names.empty());
  CHECK_THROWS_WITH_AS(static_cast<void>(parse_kineto_trace("[" + named("kernel", longest + "a") + "]", "a.json")),
                       doctest::Contains("expected a text of at most 1048576 bytes, found 1048577"), InputError);
  KinetoCollector collector("a.json");
  collector.add(kernel_event(longest));
  for (int i = 1; i < 128; ++i) collector.add(kernel_event(std::to_string(1000 + i) + longest.substr(4)));
  collector.add(kernel_event(longest));
  CHECK(collector.trace().names.size() == 128);
  CHECK_THROWS_WITH_AS(collector.add(kernel_event("b")), doctest::Contains("names of at most 128 MiB together"),
                       InputError);
  if (!testing::draws_all()) return;
  std::string events = "[" + named("kernel", longest);
  for (int i = 1; i < 128; ++i) events += "," + named("kernel", std::to_string(1000 + i) + longest.substr(4));
  CHECK(parse_kineto_trace(events + "," + named("kernel", longest) + "]", "a.json").names.size() == 128);
  CHECK_THROWS_WITH_AS(static_cast<void>(parse_kineto_trace(events + "," + named("kernel", "b") + "]", "a.json")),
                       doctest::Contains("names of at most 128 MiB together"), InputError);
}

TEST_CASE("kineto: of an operator's inputs those of the first 1024 are kept, and of a wrong field one message") {
  KinetoEvent event;
  for (int i = 0; i < 2000; ++i) {
    event.add_dimensions(i, i);
    event.add_type("float");
    event.set_wrong(KinetoField::Time, "found " + std::to_string(i));
  }
  CHECK(event.inputs().size() == 1024);
  CHECK(event.inputs().back().elements == 1023);
  CHECK(event.inputs().back().type == "float");
  CHECK_THROWS_WITH_AS(static_cast<void>(event.required(KinetoField::Time)), doctest::Contains("found 0"), InputError);
}

TEST_CASE("kineto: events that are not needed leave nothing behind") {
  std::string events = kernel("0", "1");
  for (int i = 0; i < 1000; ++i) {
    events += R"(,{"ph":"X","cat":"python_function","name":"f)" + std::to_string(i) + R"(","pid":1,"tid":)" +
              std::to_string(i) + R"(,"ts":1,"dur":2,"args":{"Python id":1}},{"ph":"i","name":"[memory]","ts":2})";
  }
  const KinetoTrace trace = parse_kineto_trace(traced(events), "a.json");
  CHECK(trace.names.size() == 1);
  CHECK(trace.scopes.empty());
}

TEST_CASE("kineto: a text that does not end is refused before it fills the memory") {
  const std::string text = R"({"traceEvents":[{"name":")" + std::string(std::size_t{17} << 20, 'a') + R"("}]})";
  CHECK_THROWS_WITH_AS(static_cast<void>(parse_kineto_trace(text, "a.json")), doctest::Contains("more than 16 MiB"),
                       InputError);
  std::string escaped;
  for (int i = 0; i < (9 << 20); ++i) escaped += "\\\"";
  CHECK_THROWS_WITH_AS(static_cast<void>(parse_kineto_trace(R"([{"name":")" + escaped + R"("}])", "a.json")),
                       doctest::Contains("more than 16 MiB"), InputError);
}

}  // namespace
}  // namespace stagecraft::kineto_trace_test
