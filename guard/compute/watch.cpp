#include "guard/compute/watch.hpp"

#include <pthread.h>
#include <signal.h>
#include <time.h>

#include <atomic>
#include <cstdlib>

#include "guard/compute/reports.hpp"
#include "guard/compute/stream_ends.hpp"
#include "guard/inject/libc_floor.hpp"

namespace tessera::guard {
namespace {

constexpr long kLookNs = 2'000'000;
// When nothing has been in flight for some looks: whoever begins does not wake us, for that would
// be a call of the system's on the way of a launch.
constexpr long kIdleLookNs = 50'000'000;
constexpr int kLooksUntilIdle = 100;

// The driver's own handlers come next, and it is not asked for anything beside them.
std::atomic<bool> is_exiting = false;

// Once: a forked child has the handler too. Later than the driver, for it has begun.
void end_at_exit() {
    static std::atomic<bool> is_registered = false;
    if (!is_registered.exchange(true)) std::atexit([] { is_exiting.store(true); });
}

void* watch(void* of_card) {
    const auto card = static_cast<int>(static_cast<Timing*>(of_card) - &timing(0));
    for (int idle_looks = 0;;) {
        const bool dozes = idle_looks >= kLooksUntilIdle;
        timing(card).is_dozing.store(dozes);
        const bool may_look = !is_exiting.load();
        if (may_look) note_seen(card, monotonic_ns());
        idle_looks = may_look && watch_streams(card) ? 0 : idle_looks + 1;
        const timespec pause = {0, dozes && idle_looks > 0 ? kIdleLookNs : kLookNs};
        nanosleep(&pause, nullptr);
    }
    return nullptr;
}

// The program's signals are for the program's threads.
bool start(int card) {
    if (pthread_create == nullptr) return false;
    end_at_exit();
    sigset_t all;
    sigset_t before;
    sigfillset(&all);
    sigprocmask(SIG_SETMASK, &all, &before);
    pthread_t thread = 0;
    const bool has_begun = pthread_create(&thread, nullptr, watch, &timing(card)) == 0;
    sigprocmask(SIG_SETMASK, &before, nullptr);
    return has_begun;
}

}  // namespace

void need_watch(int card) {
    std::atomic<bool>& has_watch = timing(card).has_watch;
    if (has_watch.load(std::memory_order_relaxed)) return;
    if (!has_watch.exchange(true) && !start(card)) has_watch.store(false);
}

}  // namespace tessera::guard
