#include "sim/analytic/one_machine.hpp"

#include <algorithm>
#include <cstddef>
#include <queue>
#include <utility>

namespace stagecraft {

Seconds least_completion(std::vector<Job> jobs) {
  std::ranges::sort(jobs, {}, &Job::head);
  std::priority_queue<std::pair<Seconds, Seconds>> open;  // tail and the time that is left
  Seconds now;
  Seconds end;
  std::size_t next = 0;
  while (next < jobs.size() || !open.empty()) {
    if (open.empty()) now = std::max(now, jobs[next].head);
    for (; next < jobs.size() && jobs[next].head <= now; ++next) open.emplace(jobs[next].tail, jobs[next].time);
    const auto [tail, left] = open.top();
    open.pop();
    const Seconds done = now + left;
    if (next < jobs.size() && jobs[next].head < done) {
      open.emplace(tail, done - jobs[next].head);
      now = jobs[next].head;
      continue;
    }
    now = done;
    end = std::max(end, now + tail);
  }
  return end;
}

}  // namespace stagecraft
