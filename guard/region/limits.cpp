#include "guard/region/limits.hpp"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstring>

#include "guard/region/mapping.hpp"

namespace tessera::guard {
namespace {

Limits* map_limits(const char* path, int open_flags, int protection, int flags = MAP_SHARED) {
    const Opened file(path, open_flags);
    if (file.fd() < 0) return nullptr;
    auto* limits = static_cast<Limits*>(map_whole(file.fd(), sizeof(Limits), protection, flags));
    if (limits == nullptr) return nullptr;
    const bool is_sound = limits->magic == kLimitsMagic && limits->size == sizeof(Limits) &&
                          limits->gpu_count <= unsigned{kMaxGpus};
    if (is_sound) return limits;
    munmap(limits, sizeof(Limits));
    errno = 0;
    return nullptr;
}

}  // namespace

const Limits* open_limits(const char* path) {
    return map_limits(path, O_RDONLY, PROT_READ);
}

void close_limits(const Limits* limits) {
    munmap(const_cast<Limits*>(limits), sizeof(Limits));
}

Limits* change_limits(const char* path) {
    return map_limits(path, O_RDWR, PROT_READ | PROT_WRITE);
}

Limits* copy_limits(const char* path) {
    return map_limits(path, O_RDONLY, PROT_READ | PROT_WRITE, MAP_PRIVATE);
}

int find_gpu(const Limits& limits, const std::uint8_t* uuid) {
    for (unsigned i = 0; i < limits.gpu_count && i < unsigned{kMaxGpus}; i++) {
        if (std::memcmp(limits.gpus[i].uuid, uuid, sizeof limits.gpus[i].uuid) == 0)
            return static_cast<int>(i);
    }
    return -1;
}

}  // namespace tessera::guard
