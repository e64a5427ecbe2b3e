// Selects the process that measures what a kind of context costs while no process of the container
// knows it. Only one process measures at a time, because the costs of two contexts cannot be
// separated.
//
// The lock is on an open file, on a byte of the accounts behind those of the processes
// (region/life.hpp). It ends with its owner. If the owner is stopped, others wait for some seconds
// and then go on without the lock.
#pragma once

#include "guard/process/context_cost.hpp"
#include "guard/region/uncancelled.hpp"

namespace tessera::guard {

class FirstCost {
  public:
    // Waits if there is an NVML to measure with and the cost is not known yet.
    explicit FirstCost(ContextOf of);
    ~FirstCost();
    FirstCost(const FirstCost&) = delete;
    FirstCost& operator=(const FirstCost&) = delete;

  private:
    const Uncancelled uncancelled_;  // the thread that has the lock
    int gpu_;
    int fd_ = -1;
};

}  // namespace tessera::guard
