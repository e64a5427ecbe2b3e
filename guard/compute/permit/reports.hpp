// What this process reports to the arbiter, and to the container's other processes, about its time
// on a GPU. Any thread. All functions require that begin() has succeeded (process/process.hpp).
#pragma once

#include "guard/process/process.hpp"
#include "guard/region/clock.hpp"
#include "guard/region/layout.hpp"

namespace tessera::guard {

// A thread that waits for a launch permit.
class Waiting {
  public:
    explicit Waiting(int gpu);
    ~Waiting();
    Waiting(const Waiting&) = delete;
    Waiting& operator=(const Waiting&) = delete;

  private:
    ProcessTime& time_;
    std::int64_t since_;
};

// The guard runs in this process. A process that does not report this within kUnseenNs is no longer
// believed.
void note_seen(int gpu, std::int64_t now);
// All time from since_ns on counts as work of this process, until more is known. 0: none does.
void note_in_flight(int gpu, WorkKind kind, std::int64_t since_ns);
// That time was work; this is final.
void note_work(int gpu, WorkKind kind, Span work);

}  // namespace tessera::guard
