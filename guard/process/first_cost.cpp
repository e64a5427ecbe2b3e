#include "guard/process/first_cost.hpp"

#include <fcntl.h>
#include <time.h>
#include <unistd.h>

#include "guard/inject/nvml.hpp"
#include "guard/process/state.hpp"

namespace tessera::guard {
namespace {

constexpr long kLookNs = 1'000'000;
constexpr int kLooks = 5'000;

bool set_lock(int fd, int gpu, short type) {
    struct flock lock = {};
    lock.l_type = type;
    lock.l_whence = SEEK_SET;
    lock.l_start = kMaxProcesses + gpu;
    lock.l_len = 1;
    return fcntl(fd, F_OFD_SETLK, &lock) == 0;
}

}  // namespace

FirstCost::FirstCost(ContextOf of) : gpu_(of.gpu) {
    const Process& here = *process();
    const MeasuredCost& cost = here.process_slot.accounts->context_costs[of.gpu][of.kind];
    if (cost.is_known() || found_nvml() == nullptr) return;
    fd_ = open(here.accounts_path, O_RDWR | O_CLOEXEC);
    if (fd_ < 0) return;
    for (int i = 0; i < kLooks && !cost.is_known() && !set_lock(fd_, gpu_, F_WRLCK); i++) {
        const timespec pause = {0, kLookNs};
        nanosleep(&pause, nullptr);
    }
}

// Unlocks explicitly: a child that was forked meanwhile has the open file too.
FirstCost::~FirstCost() {
    if (fd_ < 0) return;
    set_lock(fd_, gpu_, F_UNLCK);
    close(fd_);
}

}  // namespace tessera::guard
