#include "adapters/run/run_watch.hpp"

#include <sys/wait.h>

#include <algorithm>

#include "adapters/guard/region_use.hpp"

namespace tessera {
namespace {

constexpr int kSignalled = 128;

int exit_status_of(int wait_status) {
    return WIFSIGNALED(wait_status) ? kSignalled + WTERMSIG(wait_status) : WEXITSTATUS(wait_status);
}

}  // namespace

// What dead processes had counts until another process of the run starts. So a short run, too, has
// a figure.
void RunWatch::measure() {
    if (region_ == nullptr) region_ = OpenRegion::open(region_path_, ChangedLimits::own);
    if (region_ == nullptr) return;
    const ShareUse use = read_use(*region_, 0);
    if (use.is_damaged) return;
    use_.most_memory = std::max({use_.most_memory, use.used, read_charged(*region_, 0)});
    use_.refusals = use.refusals;
    use_.is_timed |= use.is_timed;
    // The time of work that a process had when it was killed is no longer in the accounts.
    const GpuTime time = read_time_in_flight(*region_, 0);
    use_.time.kernels_ns = std::max(use_.time.kernels_ns, time.kernels_ns);
    use_.time.copies_ns = std::max(use_.time.copies_ns, time.copies_ns);
}

void RunWatch::look() {
    measure();
    for (;;) {
        int wait_status = 0;
        const pid_t ended = ::waitpid(-1, &wait_status, WNOHANG);
        has_children_ = ended >= 0;
        if (ended <= 0) return;
        if (ended == program_) {
            exit_status_ = exit_status_of(wait_status);
            measure();
        }
    }
}

}  // namespace tessera
