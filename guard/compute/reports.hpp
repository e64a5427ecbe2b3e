// What this process tells the arbiter and its container's others of its time on a card. Any thread.
// All functions want begin() to have succeeded (process/process.hpp).
#pragma once

#include "guard/process/process.hpp"
#include "guard/region/clock.hpp"
#include "guard/region/layout.hpp"

namespace tessera::guard {

// A thread that waits for its turn.
class Waiting {
  public:
    explicit Waiting(int card);
    ~Waiting();
    Waiting(const Waiting&) = delete;
    Waiting& operator=(const Waiting&) = delete;

  private:
    ProcessTime& time_;
    std::int64_t since_;
};

// The guard runs in this process; who does not say so within kUnseenNs is not believed any more.
void note_seen(int card, std::int64_t now);
// All time since then counts as work of this process, until more is known; 0: none does.
void note_in_flight(int card, WorkKind kind, std::int64_t since_ns);
// And that did for good.
void note_work(int card, WorkKind kind, Span work);

}  // namespace tessera::guard
