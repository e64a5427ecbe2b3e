#include "guard/compute/thread_end.hpp"

#include "guard/compute/stream_ends.hpp"
#include "guard/inject/elf.hpp"

namespace tessera::guard {
namespace {

// What thread_local objects of C++ are destroyed by: before those of pthread_setspecific(), among
// which the driver's may be. Not linked: glibc 2.17 has none.
constexpr char kAtThreadEnd[] = "__cxa_thread_atexit_impl";
using AtThreadEnd = int (*)(void (*)(void*), void*, void*);

thread_local constinit unsigned cards = 0;  // a bit for each

void end(void* /*unused*/) {
    for (int card = 0; card < kMaxCards; card++)
        if ((cards >> card & 1U) != 0) leave_streams_of_thread(card);
}

}  // namespace

void leave_streams_at_thread_end(int card) {
    cards |= 1U << card;
    static thread_local constinit bool is_known = false;
    if (is_known) return;
    is_known = true;
    static char us = 0;
    const Object libc = find_loaded("libc.so.6", kAtThreadEnd);
    const auto at_end = reinterpret_cast<AtThreadEnd>(find_function(libc, kAtThreadEnd));
    if (at_end != nullptr) at_end(end, nullptr, &us);
}

}  // namespace tessera::guard
