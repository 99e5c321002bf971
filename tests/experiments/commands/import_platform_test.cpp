// Platforms of the descriptions of other programs: what the user is told, and the device file that they name.
#include "sim/io/device_file.hpp"
#include "sim/workload/catalogue.hpp"
#include "tests/experiments/commands/shell.hpp"
#include "tests/experiments/commands/toy.hpp"
#include "tests/paths.hpp"

#include <doctest/doctest.h>

#include <filesystem>
#include <string>

namespace stagecraft::import_platform_command_test {
namespace {

const std::string kVectors = STAGECRAFT_SOURCE_DIR "/tests/vectors/nccl-topology/";

/// Two GPUs, of which each has links to that target; {} is its own bus id.
std::string node_with_links_to(const std::string& target) {
  std::string text = "<system><cpu>";
  for (const std::string& number : {std::string("0"), std::string("1")}) {
    const std::string bus = "000" + number + ":00:00.0";
    text += "<pci busid=\"" + bus + "\" class=\"0x030200\"><gpu dev=\"" + number + "\" sm=\"80\">";
    if (!target.empty()) {
      text += "<nvlink target=\"" + (target == "{}" ? bus : target) + "\" count=\"12\" tclass=\"0x030200\"/>";
    }
    text += "</gpu></pci>";
  }
  return text + "</cpu></system>";
}

/// A folder with a device of another name that computes as one of the catalogue.
struct WithDevice : Folder {
  std::string device = file("gpus/mine.yaml");
  WithDevice() {
    std::filesystem::create_directories(path / "gpus");
    std::filesystem::create_directories(path / "out/deep");
    DeviceDescription description = find_device("A100-SXM4-80GB", Precision::Bf16).value();
    description.name = "mine";
    write(device, write_device(description));
  }
};

}  // namespace

TEST_CASE("import nccl-topology: a note tells that the platform has PCIe alone, and why") {
  const Folder folder;
  const auto told = [&](const std::string& target) {
    write(folder.file("node.xml"), node_with_links_to(target));
    const Ran ran = run({"import", "nccl-topology", folder.file("node.xml"), "--device", "A100-SXM4-80GB"});
    REQUIRE_MESSAGE(ran.code == 0, ran.err);
    return ran.err;
  };
  const std::string elsewhere =
      "stagecraft: note: none of the links of GPUs in the file leads to another of its GPUs; the platform has PCIe "
      "alone\n";
  CHECK(told("{}") == elsewhere);
  CHECK(told("0007:00:00.0") == elsewhere);
  CHECK(told("").empty());
  const Ran classes = run({"import", "nccl-topology", kVectors + "classes.xml", "--device", "A100-SXM4-80GB"});
  CHECK(classes.err ==
        "stagecraft: note: the file does not tell how GPUs are linked with each other; the platform has PCIe alone\n");
  CHECK(run({"import", "nccl-topology", kVectors + "pairs.xml", "--device", "A100-SXM4-80GB"}).err.empty());
}

TEST_CASE("import: a platform names the device file of its kind from its own folder, and networks are computed by it") {
  const WithDevice folder;
  const std::string written = folder.file("out/deep/node.yaml");
  const Ran ran = run({"import", "nccl-topology", kVectors + "switched.xml", "--device", folder.device, "-o", written});
  REQUIRE_MESSAGE(ran.code == 0, ran.err);
  CHECK(read(written).find(R"(device_file: "../../gpus/mine.yaml")") != std::string::npos);
  const Ran planned = run({"plan", "--model", "gpt2-small", "--microbatch-size", "4", "--planner", "uniform", "--set",
                           "stages=2", "--platform", written});
  CHECK_MESSAGE(planned.code == 0, planned.err);
  std::filesystem::remove(folder.device);
  CHECK(run({"plan", "--model", "gpt2-small", "--microbatch-size", "4", "--platform", written}).code == 2);
}

TEST_CASE("import: on standard output the device file is named from the current folder") {
  const WithDevice folder;
  const test::ShellRun ran = test::shell(
      "T=$PWD && cd $D/out && $S import nccl-topology $T/tests/vectors/nccl-topology/"
      "switched.xml --device $D/gpus/mine.yaml",
      folder.path.string());
  REQUIRE_MESSAGE(ran.code == 0, ran.err);
  CHECK(ran.out.find(R"(device_file: "../gpus/mine.yaml")") != std::string::npos);
}

}  // namespace stagecraft::import_platform_command_test
