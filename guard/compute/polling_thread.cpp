#include "guard/compute/polling_thread.hpp"

#include <pthread.h>
#include <signal.h>
#include <time.h>

#include <atomic>
#include <cstdlib>

#include "guard/compute/measure/stream_ends.hpp"
#include "guard/compute/permit/reports.hpp"
#include "guard/inject/libc_floor.hpp"

namespace tessera::guard {
namespace {

constexpr long kLookNs = 2'000'000;
// The interval after nothing has been in flight for kLooksUntilIdle looks. A launch does not wake
// the thread, because that would cost a system call per launch.
constexpr long kIdleLookNs = 50'000'000;
constexpr int kLooksUntilIdle = 100;

// After this, the driver's own exit handlers run. The driver is not called while they do.
std::atomic<bool> is_exiting = false;

// Once: a forked child has the handler too. The driver has begun, so this handler is registered
// after the driver's and runs before them.
void end_at_exit() {
    static std::atomic<bool> is_registered = false;
    if (!is_registered.exchange(true)) std::atexit([] { is_exiting.store(true); });
}

void* poll(void* of_gpu) {
    const auto gpu = static_cast<int>(static_cast<Timing*>(of_gpu) - &timing(0));
    for (int idle_looks = 0;;) {
        const bool dozes = idle_looks >= kLooksUntilIdle;
        timing(gpu).is_dozing.store(dozes);
        const bool may_look = !is_exiting.load();
        if (may_look) note_seen(gpu, monotonic_ns());
        idle_looks = may_look && poll_streams(gpu) ? 0 : idle_looks + 1;
        const timespec pause = {0, dozes && idle_looks > 0 ? kIdleLookNs : kLookNs};
        nanosleep(&pause, nullptr);
    }
    return nullptr;
}

// Signals are blocked, because the program's signals are for the program's threads.
bool start(int gpu) {
    if (pthread_create == nullptr) return false;
    end_at_exit();
    sigset_t all;
    sigset_t before;
    sigfillset(&all);
    sigprocmask(SIG_SETMASK, &all, &before);
    pthread_t thread = 0;
    const bool has_begun = pthread_create(&thread, nullptr, poll, &timing(gpu)) == 0;
    sigprocmask(SIG_SETMASK, &before, nullptr);
    return has_begun;
}

}  // namespace

void ensure_polling_thread(int gpu) {
    std::atomic<bool>& has_polling_thread = timing(gpu).has_polling_thread;
    if (has_polling_thread.load(std::memory_order_relaxed)) return;
    if (!has_polling_thread.exchange(true) && !start(gpu)) has_polling_thread.store(false);
}

}  // namespace tessera::guard
