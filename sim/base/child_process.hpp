#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace stagecraft {

/// A message of a child to its parent. The two agree on the kinds of messages.
struct Frame {
  std::uint32_t kind = 0;
  std::string bytes;
  friend bool operator==(const Frame&, const Frame&) = default;
};

/// The child's end of the pipe.
class FrameSender {
 public:
  explicit FrameSender(int descriptor) : descriptor_(descriptor) {}
  /// Sends one frame. Ends the process at once when the parent no longer listens.
  void send(std::uint32_t kind, std::string_view bytes) const;

 private:
  int descriptor_;
};

/// How a child ended.
struct ChildEnd {
  int exit_code = 0;
  int signal = 0;      ///< the signal that killed it; 0: it exited by itself
  std::string errors;  ///< the end of what it wrote to its standard error, at most 64 KiB; empty if it shares ours
};

/// Where the standard error of a child goes.
enum class ChildErrors {
  Kept,    ///< to its parent, for `ChildEnd`
  Shared,  ///< where the parent's own goes
};

/// A forked copy of this process that does some work and sends frames back. It never outlives its parent.
///
/// Standard streams are flushed before the fork, and the child leaves without unwinding the parent's objects, so
/// nothing is written twice.
class ChildProcess {
 public:
  /// Forks. The child runs `body` and exits with code 0, or with code 1 if an exception escapes, whose message goes to
  /// standard error.
  /// **Requires** a process without further threads.
  /// **Throws** InternalError if the system refuses a pipe or a process.
  explicit ChildProcess(const std::function<void(FrameSender&)>& body, ChildErrors errors = ChildErrors::Kept);
  /// Kills the child if it still runs.
  ~ChildProcess();
  ChildProcess(const ChildProcess&) = delete;
  ChildProcess& operator=(const ChildProcess&) = delete;
  ChildProcess(ChildProcess&&) = delete;
  ChildProcess& operator=(ChildProcess&&) = delete;

  /// Waits for the next frame; none when the child has closed the pipe. A frame that its death cut short is dropped.
  [[nodiscard]] std::optional<Frame> receive();
  /// A frame that has arrived already.
  [[nodiscard]] std::optional<Frame> take_frame();
  /// Whether the child has closed the pipe: after the frames that have arrived there will be no more.
  [[nodiscard]] bool has_closed() const { return frames_ < 0; }
  /// Waits until one of the children has sent something or closes its pipe, and reads it. Waits for at most `timeout`,
  /// or until a signal is handled.
  static void wait_for_any(std::span<ChildProcess* const> children, std::chrono::milliseconds timeout);

  /// Waits for the child's end.
  ChildEnd wait();

 private:
  [[noreturn]] void run_child(const std::function<void(FrameSender&)>& body, int frames, int errors) const;
  void read_some();
  void take_in(short of_frames, short of_errors);
  bool read_from(int& descriptor, std::string& into);

  int pid_ = -1;
  int parent_;
  int frames_ = -1;
  int errors_ = -1;
  std::string pending_;
  std::size_t taken_ = 0;  ///< of `pending_`
  std::string error_text_;
};

}  // namespace stagecraft
