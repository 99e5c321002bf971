#include "tests/experiments/study/mini_slurm.hpp"

#include "sim/base/foreign_program.hpp"
#include "tests/paths.hpp"

#include <doctest/doctest.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <random>
#include <set>
#include <sstream>
#include <string>
#include <vector>

namespace stagecraft {
namespace {

namespace fs = std::filesystem;

const char* const kScript = STAGECRAFT_SOURCE_DIR "/tests/experiments/study/mini_slurm";
constexpr Seconds kStartLimit(20);

std::string content_of(const fs::path& file) {
  std::ostringstream text;
  text << std::ifstream(file).rdbuf();  // a process may vanish while its file is read
  return text.str();
}

/// Why this machine cannot have one, as far as that can be seen without trying.
std::string obstacle() {
  if (getuid() != 0) return "not root";
  for (const char* const name : {"sbatch", "squeue", "scancel", "scontrol", "sinfo"}) {
    if (!program_is_there(name)) return std::string("no ") + name;
  }
  for (const char* const name : {"slurmctld", "slurmd", "munged"}) {
    if (!program_is_there(name) && !fs::exists(std::string("/usr/sbin/") + name)) return std::string("no ") + name;
  }
  return {};
}

/// The ports that some socket of this machine has.
std::set<int> used_ports() {
  std::set<int> ports;
  for (const char* const table : {"/proc/net/tcp", "/proc/net/tcp6"}) {
    std::istringstream lines(content_of(table));
    for (std::string line; std::getline(lines, line);) {
      std::istringstream words(line);
      std::string slot;
      std::string address;  // in hexadecimal digits, with `:` before the port
      words >> slot >> address;
      const std::size_t colon = address.rfind(':');
      if (slot != "sl" && colon != std::string::npos) ports.insert(std::stoi(address.substr(colon + 1), nullptr, 16));
    }
  }
  return ports;
}

/// The first of `count` free ports in a row, below the range that the kernel gives out itself.
int free_ports(int count) {
  const std::set<int> used = used_ports();
  std::random_device seed;
  for (;;) {
    const int first = 20'000 + static_cast<int>(seed() % 12'000);
    bool all = true;
    for (int i = 0; i < count; ++i) all = all && !used.contains(first + i);
    if (all) return first;
  }
}

std::vector<int> children_of(int parent) {
  std::vector<int> children;
  for (const fs::directory_entry& entry : fs::directory_iterator("/proc")) {
    const std::string name = entry.path().filename().string();
    if (name.find_first_not_of("0123456789") != std::string::npos) continue;
    const std::string stat = content_of(entry.path() / "stat");
    const std::size_t bracket = stat.rfind(')');  // pid (name) state parent ...
    if (bracket == std::string::npos) continue;
    std::istringstream rest(stat.substr(bracket + 1));
    std::string state;
    int its_parent = 0;
    rest >> state >> its_parent;
    if (its_parent == parent) children.push_back(std::stoi(name));
  }
  return children;
}

void kill_tree(int process) {
  kill(process, SIGSTOP);  // it must not fork meanwhile
  for (const int child : children_of(process)) kill_tree(child);
  kill(process, SIGKILL);
}

/// Runs the script's verbs that come through the wire; when the wire ends, so does everything that they started. All
/// orphans below it become its children, wherever the daemons put them.
[[noreturn]] void keep(int wire, const std::string& folder) {
  setsid();
  prctl(PR_SET_CHILD_SUBREAPER, 1);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGPIPE}) std::signal(signal, SIG_IGN);
  std::string line;
  for (char letter = 0; read(wire, &letter, 1) == 1;) {
    if (letter != '\n') {
      line += letter;
      continue;
    }
    std::vector<std::string> arguments = {kScript};
    std::istringstream words(line);
    arguments.insert(arguments.end(), std::istream_iterator<std::string>(words), {});
    const ForeignEnd end = run_foreign_program({.command = arguments, .time_limit = kStartLimit});
    std::ofstream(folder + "/" + arguments.at(1) + ".txt") << end.output << end.errors;
    const char answer = end.succeeded() ? 'y' : 'n';
    if (write(wire, &answer, 1) != 1) break;
    line.clear();
  }
  for (std::vector<int> children = children_of(getpid()); !children.empty(); children = children_of(getpid())) {
    for (const int child : children) kill_tree(child);
    while (waitpid(-1, nullptr, WNOHANG) > 0) {
    }
    usleep(1000);
  }
  std::error_code ignored;
  fs::remove_all(folder, ignored);
  _exit(0);
}

}  // namespace

MiniSlurm::MiniSlurm(int nodes) : problem_(obstacle()) {
  if (!problem_.empty()) return;
  std::string pattern = (fs::temp_directory_path() / "stagecraft-slurm-XXXXXX").string();
  folder_ = mkdtemp(pattern.data());
  start_keeper();
  setenv("SLURM_CONF", (folder_ / "commands.conf").c_str(), 1);  // NOLINT(concurrency-mt-unsafe): one thread
  const int port = free_ports(nodes + 1);
  if (keeper_does("start " + folder_.string() + " " + std::to_string(port) + " " + std::to_string(nodes))) return;
  problem_ = "it does not start: " + content_of(folder_ / "start.txt") + content_of(folder_ / "log/slurmctld.log");
}

void MiniSlurm::start_keeper() {
  std::array<int, 2> ends{};
  REQUIRE(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) == 0);
  keeper_ = fork();
  REQUIRE(keeper_ >= 0);
  if (keeper_ == 0) {
    close(ends[0]);
    keep(ends[1], folder_.string());
  }
  close(ends[1]);
  wire_ = ends[0];
}

MiniSlurm::~MiniSlurm() {
  unsetenv("SLURM_CONF");  // NOLINT(concurrency-mt-unsafe): one thread
  if (keeper_ < 0) return;
  close(wire_);
  waitpid(keeper_, nullptr, 0);
}

bool MiniSlurm::keeper_does(const std::string& line) const {
  const std::string sent = line + "\n";
  char answer = 'n';
  if (write(wire_, sent.data(), sent.size()) != static_cast<ssize_t>(sent.size())) return false;
  return read(wire_, &answer, 1) == 1 && answer == 'y';
}

void MiniSlurm::set_down(const std::string& node) const {
  const ForeignEnd end =
      run_foreign_program({.command = {"scontrol", "update", "nodename=" + node, "state=down", "reason=test"}});
  INFO(end.errors);
  CHECK(end.succeeded());
}

void MiniSlurm::await_saved_state() const {
  const fs::file_time_type now = fs::file_time_type::clock::now();
  const auto saved = [&] {
    std::error_code none;
    const fs::file_time_type written = fs::last_write_time(folder_ / "state/job_state", none);
    return !none && written > now;
  };
  for (int i = 0; i < 2000 && !saved(); ++i) usleep(10'000);
  CHECK(saved());
}

void MiniSlurm::kill_controller() const {
  const int process = std::stoi(content_of(folder_ / "slurmctld.pid"));
  const std::string line = "/proc/" + std::to_string(process) + "/cmdline";
  kill_tree(process);                                                          // with the process that runs its scripts
  for (int i = 0; i < 1000 && !content_of(line).empty(); ++i) usleep(10'000);  // empty: dead, perhaps not yet reaped
}

void MiniSlurm::start_controller() const { REQUIRE(keeper_does("controller " + folder_.string())); }

int processes_with(const std::string& text) {
  int count = 0;
  for (const fs::directory_entry& entry : fs::directory_iterator("/proc")) {
    const std::string line = content_of(entry.path() / "cmdline");
    if (line.find(text) != std::string::npos) ++count;
  }
  return count;
}

}  // namespace stagecraft
