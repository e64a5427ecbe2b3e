#include "testing/fuzz/fuzz.hpp"
#include "wire/node/mountinfo.hpp"

// A table is read or refused, and queries on it terminate.
int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace tessera;
    const auto mounts = read_mountinfo(fuzz_text(data, size));
    if (!mounts) return 0;
    const auto file = stored_at(*mounts, "/etc/ld.so.preload");
    if (file) FUZZ_CHECK(!file->path.empty());
    (void)is_mounted_at(*mounts, "/etc/ld.so.preload", file.value_or(StoredAt{}));
    return 0;
}
