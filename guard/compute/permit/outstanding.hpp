// Work that the container's processes have given a GPU and have not paid for yet. Each process
// publishes when it expects its work to end. Otherwise all processes that wait for a launch permit
// would take the same one. With long kernels, that is a second of the GPU's time and more. A
// published value expires by itself, and soon if the guard no longer runs in the process, so
// nothing needs to check whether the process is alive.
#pragma once

#include "guard/region/layout.hpp"

namespace tessera::guard {

// Shorter work is not published: a permit covers about that much.
inline constexpr std::int64_t kLeastOutstandingNs = 2'000'000;

// This process expects to have work until end_ns (0: no long work), at most until now + kMaxDebtNs,
// because a longer kernel is not paid for in full. Returns the previous value. Call it from one
// thread at a time.
std::int64_t expect(int gpu, WorkKind kind, std::int64_t end_ns, std::int64_t now);
void expect_nothing(int gpu, WorkKind kind);
// How much longer the process in a slot expects to have work in flight; 0 if the guard has not run
// in it recently.
std::int64_t outstanding_ns(int gpu, WorkKind kind, int slot, std::int64_t now);
// The sum of that over all processes except this one.
std::int64_t others_outstanding_ns(int gpu, WorkKind kind, std::int64_t now);

}  // namespace tessera::guard
