// Who measures what a kind of context costs while nobody of the container knows it: one process at
// a time, for what another's context takes meanwhile cannot be told from one's own.
//
// A lock of an open file on a byte of the accounts behind those of the processes (region/life.hpp):
// it ends with whoever has it. Whoever is stopped with it is waited for some seconds, and then no
// longer.
#pragma once

#include "guard/process/context_cost.hpp"
#include "guard/region/uncancelled.hpp"

namespace tessera::guard {

class FirstCost {
  public:
    // Waits, where there is an NVML to measure by and nobody has yet.
    explicit FirstCost(ContextOf of);
    ~FirstCost();
    FirstCost(const FirstCost&) = delete;
    FirstCost& operator=(const FirstCost&) = delete;

  private:
    const Uncancelled uncancelled_;  // who has the lock
    int card_;
    int fd_ = -1;
};

}  // namespace tessera::guard
