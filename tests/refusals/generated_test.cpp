// Bad input too large, too deep or too odd to be a file of the repository.
#include "sim/base/error.hpp"
#include "sim/io/architecture_file.hpp"
#include "sim/io/device_file.hpp"
#include "sim/io/import_pipedream.hpp"
#include "sim/io/model_file.hpp"
#include "sim/io/plan_file.hpp"
#include "sim/io/platform_file.hpp"
#include "sim/io/schedule_file.hpp"
#include "sim/io/text_file.hpp"
#include "tests/experiments/commands/command.hpp"
#include "tests/refusals/corpus.hpp"

#include <doctest/doctest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>
#include <functional>
#include <string>
#include <thread>
#include <vector>

namespace stagecraft::refusals {
namespace {

const Platform& platform() {
  static const Platform kPlatform =
      build_platform(read_platform_file((vectors() / "good/platform_two_nodes.yaml").string()));
  return kPlatform;
}

const LayerGraph& graph() {
  static const Model kModel = read_model_file((vectors() / "good/model_toy.yaml").string());
  return kModel.profiles.front();
}

struct Reader {
  std::string name;
  std::function<void(const std::string& text)> read;
};

std::vector<Reader> yaml_readers() {
  return {
      {"model", [](const std::string& text) { static_cast<void>(parse_model(text, "f")); }},
      {"platform", [](const std::string& text) { static_cast<void>(parse_platform(text, "f")); }},
      {"plan", [](const std::string& text) { static_cast<void>(parse_plan(text, "f", graph(), platform())); }},
      {"schedule", [](const std::string& text) { static_cast<void>(parse_schedule(text, "f", platform())); }},
      {"architecture", [](const std::string& text) { static_cast<void>(parse_architecture(text, "f")); }},
      {"device", [](const std::string& text) { static_cast<void>(parse_device(text, "f")); }},
  };
}

/// The reader's refusal; empty if it accepts the text.
std::string refusal(const Reader& reader, const std::string& text) {
  try {
    reader.read(text);
  } catch (const InputError& error) {
    return error.what();
  }
  return {};
}

void all_refuse(const std::string& text, const std::string& part) {
  for (const Reader& reader : yaml_readers()) {
    CAPTURE(reader.name);
    const std::string message = refusal(reader, text);
    CHECK(message.size() < 1000);
    CAPTURE(message);
    CHECK(message.find(part) != std::string::npos);
  }
}

/// For what is large: all YAML goes through the same parser.
void one_refuses(const std::string& text, const std::string& part) {
  const std::string message = refusal(yaml_readers().front(), text);
  CHECK(message.size() < 1000);
  CAPTURE(message);
  CHECK(message.find(part) != std::string::npos);
}

std::string repeated(const std::string& piece, std::size_t times) {
  std::string text;
  for (std::size_t i = 0; i < times; ++i) text += piece;
  return text;
}

TEST_CASE("bad input: nesting of 20,000 levels is refused in every notation") {
  constexpr std::size_t kLevels = 20'000;
  std::string block;
  for (std::size_t i = 0; i < kLevels; ++i) block += std::string(i, ' ') + "a:\n";
  const std::string deep = "nested more than 100 deep";
  all_refuse("a: " + repeated("[", kLevels), deep);
  all_refuse(repeated("[", kLevels) + repeated("]", kLevels), deep);
  all_refuse(repeated("{\"a\":", kLevels) + "1" + repeated("}", kLevels), deep);
  all_refuse(repeated("{a: ", kLevels), deep);
  all_refuse(repeated("- ", kLevels) + "a", deep);
  all_refuse(repeated("? ", kLevels) + "a", "");
  one_refuses(block.substr(0, 4'000'000), deep);
}

TEST_CASE("bad input: aliases that grow by powers are refused before they are expanded") {
  std::string bomb = "a: &a0 [x, x, x, x, x, x, x, x, x, x]\n";
  for (int i = 1; i <= 30; ++i) {
    const std::string name = "a" + std::to_string(i);
    const std::string last = "*a" + std::to_string(i - 1);
    bomb.append(name)
        .append(": &")
        .append(name)
        .append(" [")
        .append(repeated(last + ", ", 9))
        .append(last)
        .append("]\n");
  }
  all_refuse(bomb, "a");
  for (const Reader& reader : yaml_readers()) CHECK_FALSE(refusal(reader, bomb).empty());
}

TEST_CASE("bad input: a line or a name of ten million characters is refused in a short message") {
  const std::string ten_million = repeated("x", 10'000'000);
  one_refuses(ten_million, "f:1:1: expected a map");
  one_refuses("schema: " + ten_million, "expected the schema");
  one_refuses(ten_million + ": 1", "f:1:");
  one_refuses("[" + ten_million + "]", "expected a map");
  one_refuses("# " + ten_million, "the file is empty");
  one_refuses("- &" + ten_million + " 1", "expected a map");
}

TEST_CASE("bad input: very many of anything are refused or taken within bounds") {
  one_refuses("[" + repeated("a,", 200'000) + "]", "expected a map");
  one_refuses("{" + repeated("a: 1,", 200'000) + "}", "given twice");
  one_refuses(repeated("---\n", 100'000), "a second one");
  one_refuses(repeated("#\n", 1'000'000), "the file is empty");
  one_refuses(repeated("\n", 1'000'000), "the file is empty");
  one_refuses(repeated("&a ", 100'000), "multiple anchors");
}

/// A platform of `devices` devices that lists `switches` switches.
std::string with_switches(std::size_t devices, std::size_t switches) {
  std::string text = "schema: stagecraft/platform/1\nplatform: p\ndevice_kinds: {A: {memory: 1 GiB}}\ndevices:\n";
  for (std::size_t i = 0; i < devices; ++i) text += "  - {name: d" + std::to_string(i) + ", kind: A}\n";
  text += "switches:\n";
  for (std::size_t i = 0; i < switches; ++i) text += "  - s" + std::to_string(i) + "\n";
  return text + "links: [{between: [d0, s0], bandwidth: 1 GBps, latency: 0}]\n";
}

/// The refusal by the reader of that name.
std::string refusal_by(const std::string& name, const std::string& text) {
  for (const Reader& reader : yaml_readers()) {
    if (reader.name == name) return refusal(reader, text);
  }
  return "no such reader";
}

TEST_CASE("bad input: more devices or convolutions than are counted are refused before they are read") {
  CHECK(refusal_by("platform",
                   "schema: stagecraft/platform/1\nplatform: p\ndevice_kinds: {A: {memory: 1 GiB}}\ndevices: [" +
                       repeated("a,", 100'001) + "]") ==
        "f:4:10: devices: expected at most 100000 devices in all, found more (describe a part of the cluster)");
  CHECK(refusal_by("architecture", "schema: stagecraft/architecture/1\narchitecture: a\nfamily: vgg\nblocks: [[" +
                                       repeated("8,", 1001) + "]]") ==
        "f:4:10: blocks[0]: expected at most 1000 convolutions, found more");
  CHECK(refusal_by("platform", with_switches(513, 1)).find("expected at most 512 devices with switches, found 513") !=
        std::string::npos);
  CHECK(refusal_by("platform", with_switches(1, 100'001)).find("expected at most 100000 switches, found more") !=
        std::string::npos);
}

TEST_CASE("bad input: other encodings and broken characters are refused where they stand") {
  all_refuse("", "the file is empty");
  all_refuse("# nothing\n", "the file is empty");
  all_refuse(std::string("schema\0: x", 10), "f:1:7: expected a text file in UTF-8, found the byte 0x00");
  all_refuse("\xFF\xFEs\x01c", "f:1:1: expected a text file in UTF-8, found the byte 0xff");
  all_refuse(std::string("\0s\0c\0h", 6), "f:1:1: expected a text file in UTF-8, found the byte 0x00");
  all_refuse("schema: \xC3(", "found the byte 0xc3");
  all_refuse("schema: \xED\xA0\x80", "found the byte 0xed");  // half of a pair of UTF-16
  all_refuse("schema: \xF4\x90\x80\x80", "found the byte 0xf4");
  all_refuse("schema: \xC0\xAF", "found the byte 0xc0");
  all_refuse("schema: \x1b[31m", "found the byte 0x1b");
  all_refuse(R"({"schema": "\ud800"})", "f:1:");
  all_refuse(R"({"schema": "\uZZZZ"})", "f:1:");
  all_refuse(R"({"schema": "\x)", "f:1:");
}

TEST_CASE("bad input: a mark of byte order and other line ends change nothing") {
  const std::string text = raw(vectors() / "good/model_toy.yaml");
  const Model model = parse_model(text, "f");
  CHECK(parse_model("\xEF\xBB\xBF" + text, "f") == model);
  std::string with_returns;
  for (const char c : text) with_returns += c == '\n' ? std::string("\r\n") : std::string(1, c);
  CHECK(parse_model(with_returns, "f") == model);
  CHECK(parse_model(text + "...\n", "f") == model);
  CHECK(parse_model("%YAML 1.2\n---\n" + text, "f") == model);
}

TEST_CASE("bad input: names of every length are told in short") {
  std::string text = raw(vectors() / "good/model_toy.yaml");
  const std::string name(1'000'000, 'n');
  text.replace(text.find("relu1"), 5, name);
  text.replace(text.find("conv1"), 5, name);
  const std::string message = refusal(yaml_readers().front(), text);
  CHECK(message.find("given twice") != std::string::npos);
  CHECK(message.size() < 1000);
}

/// Every reader of files, by the command that reaches it.
std::vector<std::vector<std::string>> commands_reading(const std::string& path) {
  const std::string model = (vectors() / "good/model_toy.yaml").string();
  const std::string machine = (vectors() / "good/platform_two_nodes.yaml").string();
  const std::string plan = (vectors() / "good/plan_pair.yaml").string();
  return {{"check", plan, "--model", path, "--platform", machine},
          {"check", plan, "--model", model, "--platform", path},
          {"check", path, "--model", model, "--platform", machine},
          {"simulate", plan, "--model", model, "--platform", machine, "--schedule-file", path},
          {"describe", path},
          {"model", path, "--device", "V100-SXM2-16GB", "--microbatch-size", "8"},
          {"model", "vgg16", "--device", path, "--microbatch-size", "8"},
          {"import", "pipedream", path, "--microbatch-size", "8", "--device", "A"}};
}

void all_commands_refuse(const std::string& path, const std::string& part) {
  for (const std::vector<std::string>& command : commands_reading(path)) {
    CAPTURE(command.front());
    const Ran ran = run(command);
    CAPTURE(ran.err);
    CHECK(ran.code == 2);
    CHECK(ran.err.find(part) != std::string::npos);
  }
}

TEST_CASE("bad input: what is no regular file does not hang and does not fill the memory") {
  const Folder folder;
  all_commands_refuse(folder.path.string(), "found a directory");
  all_commands_refuse((folder.path / "absent.yaml").string(), "");
  all_commands_refuse("/dev/null", "");
  all_commands_refuse("/proc/self/mem", "cannot be read");
  const std::string pipe = (folder.path / "pipe.yaml").string();
  REQUIRE(mkfifo(pipe.c_str(), 0600) == 0);
  const auto reader_of_a_closed_pipe = [&] {
    std::thread writer([&] { std::ofstream(pipe) << "schema: x\n"; });
    const Ran ran = run({"check", pipe, "--model", (vectors() / "good/model_toy.yaml").string(), "--platform",
                         (vectors() / "good/platform_two_nodes.yaml").string()});
    writer.join();
    return ran;
  };
  CHECK(reader_of_a_closed_pipe().err.find("expected the schema") != std::string::npos);
}

TEST_CASE("bad input: a link that leads to itself is neither read nor written") {
  const Folder folder;
  const std::string link = (folder.path / "link.yaml").string();
  std::filesystem::create_symlink("link.yaml", link);
  all_commands_refuse(link, "");
  const Ran ran = run({"plan", "--model", (vectors() / "good/model_toy.yaml").string(), "--platform",
                       (vectors() / "good/platform_two_nodes.yaml").string(), "--planner", "uniform", "-o", link});
  CHECK(ran.code == 2);
  CHECK(ran.err == "stagecraft: error: " + link + ": cannot be written: Too many levels of symbolic links\n");
  CHECK(std::filesystem::is_symlink(link));
}

TEST_CASE("bad input: what never ends is given up at the largest size of a file") {
  try {
    static_cast<void>(read_text_file("/dev/zero"));
    FAIL("taken");
  } catch (const InputError& error) {
    CHECK(std::string(error.what()) == "/dev/zero: is larger than 64 MiB");
  }
}

TEST_CASE("bad input: a file that may not be read says so") {
  const Folder folder;
  const std::string path = (folder.path / "secret.yaml").string();
  std::ofstream(path) << "schema: x\n";
  REQUIRE(chmod(path.c_str(), 0) == 0);
  if (geteuid() == 0) {
    MESSAGE("skipped: root may read everything");
    return;
  }
  all_commands_refuse(path, "cannot be read: Permission denied");
}

}  // namespace
}  // namespace stagecraft::refusals
