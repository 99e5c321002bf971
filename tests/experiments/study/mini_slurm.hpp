#pragma once

#include <filesystem>
#include <string>

namespace stagecraft {

/// A private Slurm on the loopback of this machine: `n1`, `n2`, ..., two cores each. While it lives, the command lines
/// of Slurm that this process starts go to it. Its daemons and all that runs on its nodes end with it, and also when
/// this process is killed.
class MiniSlurm {
 public:
  /// At most 20 s; `problem` says why there is none.
  explicit MiniSlurm(int nodes);
  ~MiniSlurm();
  MiniSlurm(const MiniSlurm&) = delete;
  MiniSlurm& operator=(const MiniSlurm&) = delete;
  MiniSlurm(MiniSlurm&&) = delete;
  MiniSlurm& operator=(MiniSlurm&&) = delete;

  /// Empty if it runs; else why this machine cannot have one.
  [[nodiscard]] const std::string& problem() const { return problem_; }
  [[nodiscard]] const std::filesystem::path& folder() const { return folder_; }

  /// Tells Slurm that a node has failed: what ran there is requeued.
  void set_down(const std::string& node) const;
  /// Waits until the controller has written down all it knows now, which it does every few seconds.
  void await_saved_state() const;
  /// The controller dies at once, what it had not yet written is lost.
  void kill_controller() const;
  /// **Returns** when the controller answers again.
  void start_controller() const;

 private:
  void start_keeper();
  [[nodiscard]] bool keeper_does(const std::string& line) const;

  std::filesystem::path folder_;
  std::string problem_;
  int keeper_ = -1;  ///< process
  int wire_ = -1;    ///< to it; its end is the keeper's
};

/// The number of processes whose command line has this text; for what must not be left behind.
[[nodiscard]] int processes_with(const std::string& text);

}  // namespace stagecraft
