// `export --to paje`, read line by line and compared with `--timeline --json` of the same run.
#include "tests/experiments/commands/told_run.hpp"

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstdint>
#include <map>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

namespace stagecraft {
namespace {

using Json = nlohmann::json;

/// The words of a line; a word between double quotes may have spaces, and no quotes.
std::vector<std::string> words_of(const std::string& line) {
  std::vector<std::string> words;
  for (std::size_t at = line.find_first_not_of(' '); at != std::string::npos; at = line.find_first_not_of(' ', at)) {
    const bool is_quoted = line[at] == '"';
    if (is_quoted) ++at;
    const std::size_t end = std::min(line.find(is_quoted ? '"' : ' ', at), line.size());
    words.push_back(line.substr(at, end - at));
    CHECK(!words.back().empty());  // pj_dump misreads empty words
    at = end + (is_quoted ? 1 : 0);
  }
  return words;
}

using PajeEvent = std::map<std::string, std::string>;  ///< its fields, with its kind as "event"

/// The events of a trace, by its own definitions.
std::vector<PajeEvent> events_of(const std::string& text) {
  std::map<std::string, std::vector<std::string>> definitions;  // by number: the kind, then the fields
  std::string defined;
  std::vector<PajeEvent> events;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with('#')) continue;
    std::vector<std::string> words = words_of(line.starts_with('%') ? line.substr(1) : line);
    if (!line.starts_with('%')) {
      const std::vector<std::string>& fields = definitions.at(words.front());
      REQUIRE(words.size() == fields.size());
      PajeEvent& event = events.emplace_back(PajeEvent{{"event", fields.front()}});
      for (std::size_t i = 1; i < words.size(); ++i) event[fields[i]] = words[i];
    } else if (words.front() == "EventDef") {
      defined = words.at(2);
      CHECK(definitions.emplace(defined, std::vector{words.at(1)}).second);
    } else if (words.front() != "EndEventDef") {
      definitions.at(defined).push_back(words.front());
    }
  }
  return events;
}

struct PajeContainer {
  std::string type, name, parent;
};

struct PajeRun {
  std::vector<PajeEvent> events;
  std::map<std::string, PajeContainer> containers;  ///< by alias

  explicit PajeRun(const std::string& text) : events(events_of(text)) {
    double last = 0.0;
    for (const PajeEvent& event : events) {
      if (event.contains("Time")) {
        CHECK(std::stod(event.at("Time")) >= last);
        last = std::stod(event.at("Time"));
      }
      if (event.at("event") != "PajeCreateContainer") continue;
      const PajeContainer container{event.at("Type"), event.at("Name"), event.at("Container")};
      CHECK(containers.emplace(event.at("Alias"), container).second);
      CHECK((container.parent == "0" || containers.contains(container.parent)));
    }
  }

  /// The place of a track.
  [[nodiscard]] std::string place_of(const std::string& track) const {
    const PajeContainer& place = containers.at(containers.at(track).parent);
    CHECK(containers.at(track).name.starts_with(place.name + " "));
    return place.name;
  }
};

std::vector<test::ToldOperation> states_of(const PajeRun& paje) {
  std::vector<test::ToldOperation> states;
  std::map<std::string, std::size_t> open;  // by track
  for (const PajeEvent& event : paje.events) {
    const std::string& kind = event.at("event");
    if (kind == "PajePopState") {
      REQUIRE(open.contains(event.at("Container")));
      states[open.at(event.at("Container"))].end = std::stod(event.at("Time"));
      open.erase(event.at("Container"));
    }
    if (kind != "PajePushState") continue;
    CHECK(open.emplace(event.at("Container"), states.size()).second);  // no states within states
    const std::string place = paje.place_of(event.at("Container"));
    const bool moves = event.contains("From");
    states.push_back({.op = event.at("Value"),
                      .stage = std::stoll(event.at("Stage")),
                      .microbatch = std::stoll(event.at("Microbatch")),
                      .from = moves ? event.at("From") : place,
                      .to = moves ? event.at("To") : place,
                      .bytes = moves ? std::stoll(event.at("Bytes")) : 0,
                      .aborted = event.at("Aborted") == "1",
                      .begin = std::stod(event.at("Time"))});
  }
  CHECK(open.empty());
  return states;
}

/// Each link starts where and when a state ends, and ends where and when a later one starts. Returns their number.
std::size_t check_links(const PajeRun& paje) {
  std::multimap<std::pair<std::string, std::string>, std::string> dates;  // by kind and track
  for (const PajeEvent& event : paje.events) {
    if (event.at("event").ends_with("State")) {
      dates.emplace(std::pair(event.at("event"), event.at("Container")), event.at("Time"));
    }
  }
  const auto is_date = [&](const std::string& kind, const std::string& track, const std::string& time) {
    const auto [begin, end] = dates.equal_range({kind, track});
    return std::any_of(begin, end, [&](const auto& each) { return each.second == time; });
  };
  std::map<std::string, std::string> starts;
  std::size_t count = 0;
  for (const PajeEvent& event : paje.events) {
    if (event.at("event") == "PajeStartLink") {
      CHECK(starts.emplace(event.at("Key"), event.at("Time")).second);
      CHECK(is_date("PajePopState", event.at("StartContainer"), event.at("Time")));
    } else if (event.at("event") == "PajeEndLink") {
      CHECK(starts.erase(event.at("Key")) == 1);
      CHECK(is_date("PajePushState", event.at("EndContainer"), event.at("Time")));
      ++count;
    }
  }
  CHECK(starts.empty());
  return count;
}

void check_variables(const PajeRun& paje, const Json& told) {
  std::map<std::string, std::int64_t> peaks, transfers;
  for (const PajeEvent& event : paje.events) {
    if (event.at("event") != "PajeSetVariable") continue;
    const std::int64_t value = std::stoll(event.at("Value"));
    CHECK(value >= 0);
    if (event.at("Type") == "U") transfers[event.at("Container")] = value;
    if (event.at("Type") != "M") continue;
    std::int64_t& peak = peaks[paje.containers.at(event.at("Container")).name];
    peak = std::max(peak, value);
  }
  for (const Json& device : told["devices"]) CHECK(peaks[device["name"]] == device["peak_memory_bytes"]);
  CHECK(!transfers.empty());
  for (const auto& [link, left] : transfers) CHECK(left == 0);
}

void check_paje(const test::PlanOnDisk& plan) {
  const PajeRun paje(plan.exported("paje"));
  const std::string answer = plan.told();
  const Json told = Json::parse(answer);
  test::check_same(states_of(paje), test::operations_of(answer), 3e-12);
  CHECK(check_links(paje) > 0);
  check_variables(paje, told);
  const auto barriers = std::ranges::count_if(told["timeline"], [](const Json& op) { return op["op"] == "barrier"; });
  const auto happened =
      told.contains("events") && told["events"].is_object() ? std::ssize(told["events"]["happened"]) : 0;
  CHECK(std::ranges::count_if(paje.events, [](const PajeEvent& event) {
          return event.at("event") == "PajeNewEvent";
        }) == barriers + happened);
}

}  // namespace

TEST_CASE("export --to paje: every operation of the run, its links and its variables") {
  const Folder folder;
  check_paje(test::planned(folder, "bert-large", "dgx-1-v100",
                           {"--planner", "uniform", "--set", "stages=4", "--microbatches", "8"}));
  check_paje(test::planned(folder, "vgg16-blocks", "p3.8xlarge-x4", {"--planner", "spp", "--microbatches", "8"}));
}

TEST_CASE("export --to paje: a failure, and several iterations") {
  const Toy toy;
  write(toy.file("events.yaml"),
        "schema: stagecraft/events/1\nevents:\n  - {at: 15 ms, device: b, fails_for: 10 ms}\n");
  test::PlanOnDisk plan = test::on_disk(toy);
  plan.arguments.insert(plan.arguments.end(), {"--events", toy.file("events.yaml"), "--iterations", "3"});
  check_paje(plan);
  CHECK(std::ranges::count_if(states_of(PajeRun(plan.exported("paje"))), &test::ToldOperation::aborted) == 1);
}

TEST_CASE("export --to paje: names that the format cannot write have other characters") {
  const Toy toy;
  toy.rename_device(R"(a "b" \)");
  const PajeRun paje(test::on_disk(toy).exported("paje"));
  CHECK(paje.containers.at("p0").name == "a 'b' \\");
  CHECK(states_of(paje).size() == 4);
}

}  // namespace stagecraft
