#include "guard/region/grant.hpp"

namespace tessera::guard {

// A copy is overwritten only after the other has become valid. So what was read between two reads
// of the same version is consistent. Each field is written with release and read with acquire: no
// field is newer than the version read before it, or older than the version read after it.
Granted read_grant(const Grant& grant) {
    for (;;) {
        const std::uint32_t version = grant.version.load(std::memory_order_acquire);
        const Grant::Copy& copy = grant.copies[version % 2];
        Granted read = {copy.as_of_ns.load(std::memory_order_acquire),
                        copy.rate.load(std::memory_order_acquire),
                        {}};
        for (int kind = 0; kind < kWorkKinds; kind++) {
            const Grant::OfKind& of = copy.of[kind];
            read.of[kind] = {of.balance_ns.load(std::memory_order_acquire),
                             of.part.load(std::memory_order_acquire)};
        }
        if (grant.version.load(std::memory_order_relaxed) == version) return read;
    }
}

// A writer that dies in the middle has changed nothing.
void write_grant(Grant& grant, const Granted& granted) {
    const std::uint32_t version = grant.version.load(std::memory_order_relaxed) + 1;
    Grant::Copy& copy = grant.copies[version % 2];
    copy.as_of_ns.store(granted.as_of_ns, std::memory_order_release);
    copy.rate.store(granted.rate, std::memory_order_release);
    for (int kind = 0; kind < kWorkKinds; kind++) {
        Grant::OfKind& of = copy.of[kind];
        of.balance_ns.store(granted.of[kind].balance_ns, std::memory_order_release);
        of.part.store(granted.of[kind].part, std::memory_order_release);
    }
    grant.version.store(version, std::memory_order_release);
}

std::int64_t part_of(std::int64_t ns, Millionths part) {
    __extension__ using Wide = __int128;
    return static_cast<std::int64_t>(static_cast<Wide>(ns) * part / kWhole);
}

}  // namespace tessera::guard
