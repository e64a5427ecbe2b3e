#include "guard/region/look.hpp"

#include <unistd.h>

#include <algorithm>

#include "guard/region/account.hpp"
#include "guard/region/life.hpp"
#include "guard/region/mapping.hpp"
#include "guard/region/shared_memory.hpp"

namespace tessera::guard {
namespace {

int find_holders_in(const Accounts& accounts, int fd, int card, Holder (&holders)[kMaxProcesses],
                    Granules& nobodys) {
    Granules closed[kMaxProcesses] = {};
    find_closed(accounts, card, closed);
    const auto held_open = [&](int slot) {
        const Granules granules = held_by(accounts, card, slot);
        return granules - std::min(granules, closed[slot]);
    };
    nobodys = held_open(kNobody);
    int count = 0;
    const int end = slots_end(accounts);
    for (int slot = 0; slot < end; slot++) {
        const Granules granules = held_open(slot);
        if (granules == 0 || slot == kNobody || !is_lived_in(fd, slot)) continue;
        holders[count++] = {accounts.slots[slot].pid.load(std::memory_order_relaxed), granules};
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

int find_holders(const char* accounts_path, int card, Holder (&holders)[kMaxProcesses],
                 Granules& nobodys) {
    const Opened file(accounts_path, O_RDONLY);
    if (file.fd() < 0) return -1;
    void* pages = map_whole(file.fd(), sizeof(Accounts), PROT_READ);
    if (pages == nullptr) return -1;
    const auto& accounts = *static_cast<const Accounts*>(pages);
    const int count = is_of_this_layout(accounts)
                          ? find_holders_in(accounts, file.fd(), card, holders, nobodys)
                          : -1;
    munmap(pages, sizeof(Accounts));
    return count;
}

}  // namespace tessera::guard
