// `make-events`: its files are read by `simulate`, and the same seed makes the same file.
#include "experiments/run/event_makers.hpp"
#include "experiments/run/random_search.hpp"
#include "sim/io/events_file.hpp"
#include "sim/io/model_file.hpp"
#include "sim/io/platform_file.hpp"
#include "sim/model/graph_order.hpp"
#include "tests/experiments/commands/command.hpp"
#include "tests/paths.hpp"
#include "tests/temporary_folder.hpp"

#include <doctest/doctest.h>

#include <fstream>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <variant>
#include <vector>

namespace stagecraft {
namespace {

const std::string kPlatforms = STAGECRAFT_SOURCE_DIR "/platforms/";
const std::string kTraces = STAGECRAFT_SOURCE_DIR "/traces/";

Platform dgx() { return build_platform(read_platform_file(kPlatforms + "dgx-1-v100.yaml")); }

std::string made(const std::vector<std::string>& options) {
  std::vector<std::string> command = {"make-events"};
  command.insert(command.end(), options.begin(), options.end());
  const Ran ran = run(command);
  CAPTURE(ran.err);
  REQUIRE(ran.code == 0);
  return ran.out;
}

}  // namespace

TEST_CASE("make-events: stragglers come, are as slow as asked for, and go") {
  const Disturbances given{
      .until = Seconds(1000), .every = Seconds(5), .lasting = Seconds(8), .low = 1.5, .high = 2.5, .seed = 3};
  const std::vector<NamedEvent> events = straggler_events(dgx(), given);
  std::map<std::string, Seconds> slow_from;
  std::vector<double> lengths;
  Seconds last{0};
  for (const NamedEvent& named : events) {
    const double factor = std::get<Slowdown>(named.event.change).factor;
    const std::string& device = named.names.front();
    CHECK(named.event.at >= last);
    last = named.event.at;
    if (factor == 1.0) {
      REQUIRE(slow_from.contains(device));
      lengths.push_back((named.event.at - slow_from.at(device)).value());
      slow_from.erase(device);
    } else {
      CHECK(factor >= 1.5);
      CHECK(factor <= 2.5);
      CHECK(named.event.at < given.until);
      CHECK(slow_from.emplace(device, named.event.at).second);
    }
  }
  CHECK(slow_from.empty());
  CHECK(lengths.size() > 120);  // one in 5 s; few hit a device that is slow already
  CHECK(lengths.size() < 260);
  double sum = 0.0;
  for (const double length : lengths) {
    CHECK(length > 3.99);
    CHECK(length < 12.01);
    sum += length;
  }
  CHECK(sum / static_cast<double>(lengths.size()) == doctest::Approx(8).epsilon(0.1));
}

TEST_CASE("make-events: memory goes and comes back") {
  const Platform platform = dgx();
  const Disturbances given{
      .until = Seconds(300), .every = Seconds(5), .lasting = Seconds(3), .low = 0.25, .high = 0.5, .seed = 1};
  const std::vector<NamedEvent> events = memory_events(platform, given);
  REQUIRE(events.size() > 40);
  const Bytes whole = platform.memory(DeviceId(0));
  std::size_t lost = 0;
  for (const NamedEvent& named : events) {
    const Bytes memory = std::get<MemoryLimit>(named.event.change).memory;
    if (memory == whole) continue;
    ++lost;
    CHECK(memory.value() * 2 >= whole.value() - (2 << 20));
    CHECK(memory.value() * 4 <= whole.value() * 3);
  }
  CHECK(lost * 2 == events.size());
  CHECK(resolve_events(events, platform).size() == events.size());  // no device gets more than it has
}

// The number in a time is distributed as Poisson's: its deviation is the root of its mean. Times between two have the
// mean and, since they are exponential, as large a deviation; e^-1 of them are longer than the mean.
TEST_CASE("make-events: failures have the mean time between them, and its distribution") {
  const Platform platform = dgx();
  const std::vector<NamedEvent> events =
      failure_events(platform, {.until = Seconds(40'000), .every = Seconds(10), .lasting = Seconds(1e-6), .seed = 5});
  CHECK(events.size() > 4000 - 4 * 64);
  CHECK(events.size() < 4000 + 4 * 64);
  double sum = 0.0;
  double squares = 0.0;
  double longer = 0.0;
  std::map<std::string, double> of_device;
  Seconds before{0};
  for (const NamedEvent& named : events) {
    const double gap = (named.event.at - before).value();
    CHECK(gap >= 0.0);
    CHECK(named.event.at < Seconds(40'000));
    before = named.event.at;
    sum += gap;
    squares += gap * gap;
    longer += gap > 10.0 ? 1.0 : 0.0;
    of_device[named.names.front()] += 1.0;
    CHECK(std::get<Failure>(named.event.change).duration == Seconds(1e-6));
  }
  const auto count = static_cast<double>(events.size());
  CHECK(sum / count == doctest::Approx(10.0).epsilon(0.06));
  CHECK(squares / count == doctest::Approx(200.0).epsilon(0.15));
  CHECK(longer / count == doctest::Approx(0.368).epsilon(0.08));
  REQUIRE(of_device.size() == platform.devices.size());
  for (const auto& [name, failures] : of_device) CHECK(failures == doctest::Approx(count / 8.0).epsilon(0.2));
}

TEST_CASE("make-events: a device that is down does not fail, and one that fails for ever fails once") {
  const Platform platform = dgx();
  for (const std::optional<Seconds> lasting : {std::optional(Seconds(30)), std::optional<Seconds>()}) {
    const std::vector<NamedEvent> events =
        failure_events(platform, {.until = Seconds(2000), .every = Seconds(5), .lasting = lasting, .seed = 2});
    std::map<std::string, Seconds> down_until;
    for (const NamedEvent& named : events) {
      const auto before = down_until.find(named.names.front());
      // Times are rounded to microseconds.
      if (before != down_until.end()) CHECK(before->second <= named.event.at + Seconds(1e-6));
      down_until[named.names.front()] = named.event.at + std::get<Failure>(named.event.change).duration;
    }
    CHECK(down_until.size() == platform.devices.size());
    CHECK((events.size() == platform.devices.size()) == !lasting);
  }
}

TEST_CASE("make-events: all devices of a node fail at once") {
  const std::string name = kPlatforms + "pipedream-cluster-a.yaml";
  const Platform platform = build_platform(read_platform_file(name));
  const std::vector<std::string> options = {"failures", "--platform", name,  "--until", "100 s", "--every",
                                            "10 s",     "--lasting",  "5 s", "--of",    "nodes", "--seed"};
  const auto with_seed = [&](const std::string& seed) {
    std::vector<std::string> all = options;
    all.push_back(seed);
    return made(all);
  };
  const std::string text = with_seed("4");
  CHECK(text == with_seed("4"));
  CHECK(text != with_seed("5"));
  const Events events = resolve_events(parse_events(text, "made"), platform);
  std::map<Seconds, std::set<std::size_t>> devices_at;
  for (const Event& event : events) {
    const auto& failure = std::get<Failure>(event.change);
    CHECK(failure.duration == Seconds(5));
    devices_at[event.at].insert(failure.device.value());
  }
  CHECK(devices_at.size() > 3);
  for (const auto& [at, devices] : devices_at) {
    REQUIRE(devices.size() == 4);
    CHECK(*devices.begin() % 4 == 0);
    CHECK(*devices.rbegin() == *devices.begin() + 3);
  }
}

TEST_CASE("make-events: nodes that an explicit form names fail") {
  const std::string name = STAGECRAFT_SOURCE_DIR "/tests/vectors/good/platform_named_nodes.yaml";
  const Platform platform = build_platform(read_platform_file(name));
  const std::string text =
      made({"failures", "--platform", name, "--until", "100 s", "--every", "5 s", "--lasting", "1 s", "--of", "nodes"});
  std::map<Seconds, std::set<std::size_t>> devices_at;
  for (const Event& event : resolve_events(parse_events(text, "made"), platform)) {
    devices_at[event.at].insert(std::get<Failure>(event.change).device.value());
  }
  std::set<std::set<std::size_t>> nodes;
  for (const auto& [at, devices] : devices_at) nodes.insert(devices);
  CHECK(nodes == std::set<std::set<std::size_t>>{{0, 2}, {1, 3}});
}

TEST_CASE("make-events: the same seed makes the same file, another one another, and simulate reads it") {
  const std::vector<std::string> options = {"stragglers", "--platform", kPlatforms + "dgx-1-v100.yaml",
                                            "--until",    "60 s",       "--every",
                                            "2 s",        "--lasting",  "5 s"};
  const std::string first = made(options);
  CHECK(first == made(options));
  std::vector<std::string> other = options;
  other.insert(other.end(), {"--seed", "2"});
  CHECK(first != made(other));
  CHECK(write_events(parse_events(first, "made")) == first);
}

TEST_CASE("make-events: a bandwidth trace is a change for each row") {
  const test::TemporaryFolder folder;
  std::ofstream(folder / "trace.csv") << "bandwidth, at\n5 GBps, 0 s\n\n40 Gbps, 1500 ms\n";
  const std::vector<NamedEvent> events =
      parse_events(made({"bandwidth", "--link", "node*.nic", "--trace", folder / "trace.csv"}), "made");
  REQUIRE(events.size() == 2);
  CHECK(events[0].event == Event{Seconds(0), std::nullopt, BandwidthChange{LinkId::none(), BytesPerSecond(5e9)}});
  CHECK(events[1].event == Event{Seconds(1.5), std::nullopt, BandwidthChange{LinkId::none(), BytesPerSecond(5e9)}});
  CHECK(events[1].names == std::vector<std::string>{"node*.nic"});
}

TEST_CASE("make-events: every model of a random search is sound, and differs from the one before") {
  for (const std::string name : {"bert-base.yaml", "densenet121.yaml"}) {
    CAPTURE(name);
    const LayerGraph first = read_model_file(kTraces + name).profiles.front();
    std::vector<LayerGraph> models = random_search(first, {.steps = 30, .changes = 5, .seed = 7});
    REQUIRE(models.size() == 30);
    CHECK(models == random_search(first, {.steps = 30, .changes = 5, .seed = 7}));
    CHECK(models != random_search(first, {.steps = 30, .changes = 5, .seed = 8}));
    std::set<std::size_t> sizes;
    const LayerGraph* before = &first;
    for (const LayerGraph& model : models) {
      CHECK(find_cycle(model).empty());
      CHECK(model.layers.size() >= first.layers.size() / 2);
      CHECK(model.input == first.input);
      CHECK(model.work == SampleWork{Flops(0), Flops(0), first.work.tokens});
      CHECK(model.layers != before->layers);
      Model file;
      file.profiles = {model};
      CHECK(parse_model(write_model(file), "step").profiles.front().layers == model.layers);
      sizes.insert(model.layers.size());
      before = &model;
    }
    CHECK(sizes.size() > 1);
  }
}

// Else a decoder's first layers would come before the rest of the encoder, and would be one block with it.
TEST_CASE("make-events: a layer that is doubled is followed by its copy") {
  const LayerGraph first = read_model_file(kTraces + "transformer-6-6.yaml").profiles.front();
  int copies = 0;
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    const LayerGraph model = random_search(first, {.steps = 1, .changes = 1, .seed = seed}).front();
    for (LayerId id : indices(model.layers)) {
      const std::string& name = model.layers[id].name;
      if (name.find('~') == std::string::npos) continue;
      ++copies;
      CHECK(name.starts_with(model.layers[LayerId(id.value() - 1)].name));
    }
  }
  CHECK(copies > 10);
}

TEST_CASE("make-events: a search is run by simulate, with the models beside its file") {
  const test::TemporaryFolder folder;
  const std::string model = kTraces + "bert-base.yaml";
  const std::string platform = kPlatforms + "dgx-1-v100.yaml";
  const std::string events = folder / "search.yaml";
  const std::string plan = folder / "plan.yaml";
  static_cast<void>(made({"search", "--model", model, "--steps", "3", "--interval", "40", "-o", events}));
  REQUIRE(run({"plan", "--model", model, "--platform", platform, "--planner", "vpipe", "-o", plan}).code == 0);
  const Ran ran = run({"simulate", plan, "--model", model, "--platform", platform, "--events", events, "--run-length",
                       "160", "--engine", "evaluate", "--no-timings"});
  CAPTURE(ran.err);
  CHECK(ran.code == 0);
  CHECK(ran.out.find("the model changed 3 times") != std::string::npos);
  CHECK(ran.out.find("MFU") == std::string::npos);  // of which model?
}

}  // namespace stagecraft
