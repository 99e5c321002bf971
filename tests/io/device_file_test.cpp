#include "sim/io/device_file.hpp"

#include "sim/base/error.hpp"
#include "sim/workload/catalogue.hpp"

#include <doctest/doctest.h>

#include <string>

namespace stagecraft::device_file_test {

namespace {

const std::string kStart = R"(schema: stagecraft/device/1
device: RTX-2080-Ti
source: "NVIDIA Turing GPU Architecture white paper, WP-09183-001, 2018"
memory: 11 GiB
memory_bandwidth: 616 GBps
fp32: 13.45 TFLOPS
)";

std::string refusal(const std::string& text) {
  try {
    static_cast<void>(parse_device(text, "d.yaml"));
  } catch (const InputError& error) {
    return error.what();
  }
  return "accepted";
}

}  // namespace

TEST_CASE("device file: only the data sheet's figures are required") {
  const DeviceDescription device = parse_device(kStart, "d.yaml");
  CHECK(device.name == "RTX-2080-Ti");
  CHECK(device.memory == Bytes(std::int64_t{11} << 30));
  CHECK(device.memory_bandwidth == BytesPerSecond(616e9));
  CHECK(device.fp32 == FlopsPerSecond(13.45e12));
  CHECK(device.tf32 == FlopsPerSecond(0));
  CHECK(device.precision == Precision::Fp32);
  CHECK(device.launch_overhead == Seconds(5e-6));
  CHECK(device.efficiency == Efficiency{});
}

TEST_CASE("device file: every key") {
  const DeviceDescription device =
      parse_device(kStart +
                       "tf32: 1 TFLOPS\nfp16: 53.8 TFLOPS\nprecision: fp16\nlaunch_overhead: 0\n"
                       "efficiency: {convolution: 0.4, linear: 0.5, matmul: 0.3, memory: 1}\n",
                   "d.yaml");
  CHECK(device.tf32 == FlopsPerSecond(1e12));
  CHECK(device.fp16 == FlopsPerSecond(53.8e12));
  CHECK(device.precision == Precision::Fp16);
  CHECK(device.launch_overhead == Seconds(0));
  CHECK(device.efficiency ==
        Efficiency{.convolution = 0.4, .linear = 0.5, .linear8 = 0.5, .matmul = 0.3, .attention = 0.3, .memory = 1.0});
  CHECK(device.tiling == Tiling{});
  CHECK(device.host == HostLaunches{});
}

TEST_CASE("device file: what the shape of a product, the host and a loss take") {
  const DeviceDescription device =
      parse_device(kStart +
                       "efficiency: {linear: 0.5, fp8: 0.4, matmul: 0.3, attention: 0.6}\n"
                       "products: {processors: 68, fill: 100, whole_waves: 0, odd_rows: 0.5}\n"
                       "host: {launch: 8 us, jitter: 0.05}\nloss_traffic: 10 B\n",
                   "d.yaml");
  CHECK(device.efficiency.linear8 == 0.4);
  CHECK(device.efficiency.attention == 0.6);
  CHECK(device.tiling == Tiling{.processors = 68, .fill = 100, .whole_waves = 0, .odd_rows = 0.5});
  CHECK(device.host == HostLaunches{Seconds(8e-6), 0.05});
  CHECK(device.loss_traffic == 10);
  CHECK(refusal(kStart + "products: {fill: 1}\n") == "d.yaml:7:11: products: the key 'processors' is missing");
  CHECK(refusal(kStart + "products: {processors: 0}\n") ==
        "d.yaml:7:24: products.processors: expected a whole number of at least 1, found '0'");
  CHECK(refusal(kStart + "products: {processors: 1, whole_waves: 1.5}\n") ==
        "d.yaml:7:40: products.whole_waves: expected a number from 0 to 1, found '1.5'");
  CHECK(refusal(kStart + "host: {launch: 2000 s}\n") ==
        "d.yaml:7:16: host.launch: expected a time of at most 1000 s, found '2000 s'");
  CHECK(refusal(kStart + "loss_traffic: 0 B\n") ==
        "d.yaml:7:15: loss_traffic: expected a size of more than zero, found '0 B'");
  CHECK(refusal(kStart + "fp16: 1e-300 TFLOPS\n") ==
        "d.yaml:7:7: fp16: expected a rate of at least 1 FLOPS, found '1e-300 TFLOPS'");
  CHECK(refusal(kStart + "host: {launch: 8 us, jitter: 2000000}\n") ==
        "d.yaml:7:30: host.jitter: expected a number from 0 to 1000000, found '2000000'");
}

TEST_CASE("device file: what is written reads back to the same device") {
  for (const Precision precision : {Precision::Fp32, Precision::Fp16}) {
    for (const WorkloadInfo& known : known_devices()) {
      DeviceDescription device = *find_device(known.name);
      if (rate_in(device, precision) > FlopsPerSecond(0)) device = *find_device(known.name, precision);
      device.efficiency.linear = 1.0 / 3.0;
      device.launch_overhead = Seconds(1e-6 / 7.0);
      DeviceDescription back = parse_device(write_device(device), "d.yaml");
      back.summary = device.summary;
      CHECK(back == device);
    }
  }
}

TEST_CASE("device file: a loss may move a part of a byte for each logit") {
  CHECK(parse_device(kStart + "loss_traffic: 4.25 B\n", "d.yaml").loss_traffic == 4.25);
  CHECK(parse_device(kStart + "loss_traffic: 1 KiB\n", "d.yaml").loss_traffic == 1024);
  CHECK(refusal(kStart + "loss_traffic: 1.5 b\n").starts_with("d.yaml:7:15: loss_traffic: expected a size"));
}

TEST_CASE("device file: defects are refused where they are") {
  CHECK(refusal(kStart + "efficiency: {linear: 1.2}\n") ==
        "d.yaml:7:22: efficiency.linear: expected a share of the peak, at most 1, found '1.2'");
  CHECK(refusal(kStart + "efficiency: {linear: 0}\n") ==
        "d.yaml:7:22: efficiency.linear: expected a number of more than zero, found '0'");
  CHECK(refusal(kStart + "precision: tf32\n") ==
        "d.yaml:7:12: precision: the precision 'tf32' needs the key 'tf32', its peak rate");
  CHECK(refusal(kStart + "speed: 2\n").starts_with("d.yaml:7:1: unknown key 'speed'"));
  CHECK(refusal("schema: stagecraft/device/1\ndevice: d\nsource: s\nmemory: 0 B\n") ==
        "d.yaml:4:9: memory: expected a size of more than zero, found '0 B'");
}

}  // namespace stagecraft::device_file_test
