#include "sim/base/error.hpp"
#include "sim/engine/executor.hpp"
#include "sim/replay/replay.hpp"
#include "sim/replay/replay_clock.hpp"

#include <string>
#include <utility>

namespace stagecraft {

void replay_here(const Platform& platform, OpSource source, const Events& events, const RunSink& sink, bool may_start) {
  ReplayClock clock(platform, events, may_start);
  Executor executor(platform, std::move(source), events, sink, clock);
  clock.run(executor);
  if (!executor.is_finished()) {
    throw InternalError(std::to_string(executor.unfinished()) + " operations can never start");
  }
}

}  // namespace stagecraft
