#include "guard/region/accounts_reader.hpp"

#include <unistd.h>

#include <algorithm>

#include "guard/region/account.hpp"
#include "guard/region/life.hpp"
#include "guard/region/mapping.hpp"
#include "guard/region/shared_memory.hpp"

namespace tessera::guard {
namespace {

int find_holders_in(const Accounts& accounts, int fd, int gpu,
                    ProcessMemory (&holders)[kMaxProcesses], AllocationUnits& orphaned) {
    AllocationUnits closed[kMaxProcesses] = {};
    find_closed(accounts, gpu, closed);
    const auto held_open = [&](int slot) {
        const AllocationUnits units = held_by(accounts, gpu, slot);
        return units - std::min(units, closed[slot]);
    };
    orphaned = held_open(kOrphanSlot);
    int count = 0;
    const int end = slots_end(accounts);
    for (int slot = 0; slot < end; slot++) {
        const AllocationUnits units = held_open(slot);
        if (units == 0 || slot == kOrphanSlot || !is_alive(fd, slot)) continue;
        holders[count++] = {accounts.slots[slot].pid.load(std::memory_order_relaxed), units};
    }
    return count;
}

}  // namespace

bool begins_as_accounts(int accounts_fd) {
    const AccountsHead head;
    AccountsHead found = {0, 0};
    return pread(accounts_fd, &found, sizeof found, 0) == ssize_t{sizeof found} &&
           found.magic == head.magic && found.size == head.size;
}

int find_holders(const char* accounts_path, int gpu, ProcessMemory (&holders)[kMaxProcesses],
                 AllocationUnits& orphaned) {
    const Opened file(accounts_path, O_RDONLY);
    if (file.fd() < 0) return -1;
    void* pages = map_whole(file.fd(), sizeof(Accounts), PROT_READ);
    if (pages == nullptr) return -1;
    const auto& accounts = *static_cast<const Accounts*>(pages);
    const int count = is_of_this_layout(accounts)
                          ? find_holders_in(accounts, file.fd(), gpu, holders, orphaned)
                          : -1;
    munmap(pages, sizeof(Accounts));
    return count;
}

}  // namespace tessera::guard
