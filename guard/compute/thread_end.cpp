#include "guard/compute/thread_end.hpp"

#include "guard/compute/measure/stream_ends.hpp"
#include "guard/inject/elf.hpp"

namespace tessera::guard {
namespace {

// This function registers the destructors of C++ thread_local objects. They run before those of
// pthread_setspecific(), which the driver may use. We look it up, because glibc 2.17 does not have
// it.
constexpr char kAtThreadEnd[] = "__cxa_thread_atexit_impl";
using AtThreadEnd = int (*)(void (*)(void*), void*, void*);

thread_local constinit unsigned gpus = 0;  // one bit per GPU

void end(void* /*unused*/) {
    for (int gpu = 0; gpu < kMaxGpus; gpu++)
        if ((gpus >> gpu & 1U) != 0) leave_streams_of_thread(gpu);
}

}  // namespace

void leave_streams_at_thread_end(int gpu) {
    gpus |= 1U << gpu;
    static thread_local constinit bool is_known = false;
    if (is_known) return;
    is_known = true;
    static char us = 0;
    const LoadedObject libc = find_loaded("libc.so.6", kAtThreadEnd);
    const auto at_end = reinterpret_cast<AtThreadEnd>(find_function(libc, kAtThreadEnd));
    if (at_end != nullptr) at_end(end, nullptr, &us);
}

}  // namespace tessera::guard
