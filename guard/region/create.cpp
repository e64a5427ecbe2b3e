#include "guard/region/create.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <cstdio>

#include "guard/region/clock.hpp"
#include "guard/region/grant.hpp"
#include "guard/region/look.hpp"
#include "guard/region/uuid.hpp"

namespace tessera::guard {
namespace {

struct Path {
    char text[PATH_MAX];
};

bool join(Path& path, const char* directory, const char* name, const char* suffix) {
    const int length = std::snprintf(path.text, PATH_MAX, "%s/%s%s", directory, name, suffix);
    return length > 0 && length < PATH_MAX;
}

bool write_all(int fd, const void* bytes, std::size_t size) {
    const auto* at = static_cast<const char*>(bytes);
    while (size > 0) {
        const ssize_t written = write(fd, at, size);
        if (written < 0 && errno == EINTR) continue;
        if (written <= 0) return false;
        at += written;
        size -= static_cast<std::size_t>(written);
    }
    return true;
}

// With room on the disk for all of it: a page that finds none later kills whoever touches it.
int fill(int fd, const void* head, std::size_t head_size, std::size_t size, mode_t mode) {
    if (!write_all(fd, head, head_size)) return errno;
    if (const int error = posix_fallocate(fd, 0, static_cast<off_t>(size)); error != 0)
        return error;
    if (fchmod(fd, mode) != 0) return errno;  // the umask is another's business
    return fsync(fd) == 0 ? 0 : errno;
}

struct Wanted {
    const char* name;
    const void* head;  // the rest of `size` is zero
    std::size_t head_size;
    std::size_t size;
    mode_t mode;
};

// Under another name first: who finds the file finds it whole.
int make(const char* directory, const Wanted& wanted) {
    Path path;
    Path made;
    if (!join(path, directory, wanted.name, "") || !join(made, directory, wanted.name, ".new"))
        return ENAMETOOLONG;
    unlink(made.text);
    const int fd = open(made.text, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd < 0) return errno;
    int error = fill(fd, wanted.head, wanted.head_size, wanted.size, wanted.mode);
    if (close(fd) != 0 && error == 0) error = errno;
    if (error == 0 && rename(made.text, path.text) != 0) error = errno;
    if (error != 0) unlink(made.text);
    return error;
}

// A whole file of accounts of this layout.
bool is_sound(const char* directory) {
    Path path;
    if (!join(path, directory, kAccountsName, "")) return false;
    const int fd = open(path.text, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0) return false;
    const bool is_whole =
        begins_as_accounts(fd) && lseek(fd, 0, SEEK_END) == off_t{sizeof(Accounts)};
    close(fd);
    return is_whole;
}

// Before the arbiter comes to the container it has what it is sure of.
void begin_timing(CardLimit& limit) {
    const Millionths cores = limit.cores.load();
    const Millionths ceiling = limit.ceiling.load();
    if (cores == 0 && ceiling >= kWhole) return;
    limit.is_timed.store(1);
    const Millionths rate = cores > 0 ? cores : ceiling;
    write_grant(limit.grant,
                {.as_of_ns = monotonic_ns(), .rate = rate, .of = {{0, kWhole}, {0, kWhole}}});
}

}  // namespace

int create_region(const char* directory, const CardShare* cards, int card_count) {
    if (card_count < 0 || card_count > kMaxCards) return EINVAL;
    Limits limits = {};
    limits.magic = kLimitsMagic;
    limits.size = sizeof(Limits);
    limits.card_count = static_cast<std::uint32_t>(card_count);
    for (int i = 0; i < card_count; i++) {
        if (!read_uuid(cards[i].uuid, limits.cards[i].uuid)) return EINVAL;
        // A limit is never exceeded by a part of a granule; a cost is never less than it is.
        limits.cards[i].memory = static_cast<Granules>(cards[i].memory_bytes / kGranuleBytes);
        limits.cards[i].most_memory = limits.cards[i].memory.load();
        limits.cards[i].context_cost = granules_of(cards[i].context_bytes);
        limits.cards[i].cores = cards[i].cores;
        limits.cards[i].ceiling = cards[i].ceiling;
        begin_timing(limits.cards[i]);
    }
    if (!is_sound(directory)) {
        const AccountsHead head;
        const int error =
            make(directory, {kAccountsName, &head, sizeof head, sizeof(Accounts), 0666});
        if (error != 0) return error;
    }
    return make(directory, {kLimitsName, &limits, sizeof limits, sizeof(Limits), 0644});
}

}  // namespace tessera::guard
