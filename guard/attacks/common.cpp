#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "guard/attacks/attack.hpp"

namespace tessera::attacks {

void* library = nullptr;

void give_up(const char* why) {
    std::fprintf(stderr, "no attack: %s\n", why);
    _exit(3);
}

void load(const char* path) {
    library = dlopen(path, RTLD_NOW);
    if (library == nullptr) give_up(dlerror());
}

void enter() {
    CUcontext context = nullptr;
    CUDA(cuInit)(0);
    CUDA(cuCtxCreate_v2)(&context, 0, 0);
}

void begin() {
    load();
    enter();
}

void done_and_wait() {
    std::printf("done\n");
    std::fflush(stdout);
    std::getchar();
    _exit(0);
}

Alloc as_alloc(void* function) {
    return reinterpret_cast<Alloc>(function);
}

void take(Alloc alloc, std::size_t bytes) {
    CUdeviceptr pointer = 0;
    for (std::size_t taken = 0; alloc != nullptr && taken < bytes; taken += kStep)
        alloc(&pointer, kStep);
}

Alloc unguarded_alloc() {
    return as_alloc(walk(map_of(library), "cuMemAlloc_v2"));
}

CUmemoryPool make_pool(CUmemLocation location, CUmemAllocationType type) {
    CUmemPoolProps properties = {};
    properties.allocType = type;
    properties.location = location;
    CUmemoryPool pool = nullptr;
    CUDA(cuMemPoolCreate)(&pool, &properties);
    return pool;
}

void take_from(CUmemoryPool pool) {
    CUdeviceptr pointer = 0;
    for (std::size_t taken = 0; taken < kTaken; taken += kStep)
        CUDA(cuMemAllocFromPoolAsync)(&pointer, kStep, pool, nullptr);
}

CUmemGenericAllocationHandle create(CUmemLocationType type, CUmemAllocationHandleType exported) {
    CUmemAllocationProp properties = {};
    properties.type = CU_MEM_ALLOCATION_TYPE_PINNED;
    properties.requestedHandleTypes = exported;
    properties.location = {type, 0};
    CUmemGenericAllocationHandle handle = 0;
    CUDA(cuMemCreate)(&handle, kStep, &properties, 0);
    return handle;
}

const link_map* map_of(void* handle) {
    const link_map* map = nullptr;
    dlinfo(handle, RTLD_DI_LINKMAP, static_cast<void*>(&map));
    return map;
}

std::string driver_path() {
    const link_map* map = map_of(library);
    char* real = realpath(map->l_name, nullptr);
    return real != nullptr ? real : map->l_name;
}

std::string beside(const char* name) {
    char* real = realpath("/proc/self/exe", nullptr);
    if (real == nullptr) give_up("/proc/self/exe");
    const std::string self = real;
    return self.substr(0, self.rfind('/') + 1) + name;
}

std::string temporary(const char* name) {
    const auto file = std::string(name) + "." + std::to_string(getpid());
    return std::filesystem::temp_directory_path() / file;
}

void execute_self(const char* attack, char* const* environment) {
    std::string program = beside("guard_attack");
    std::string name = attack;
    char* arguments[] = {program.data(), name.data(), nullptr};
    execve(program.c_str(), arguments, environment);
}

Part find_part(const char* name, const char* mode) {
    std::ifstream maps("/proc/self/maps");
    for (std::string line; std::getline(maps, line);) {
        if (line.find(name) == std::string::npos || line.find(mode) == std::string::npos) continue;
        Part part;
        std::sscanf(line.c_str(), "%lx-%lx", &part.begin, &part.end);
        part.path = line.substr(line.find('/'));
        return part;
    }
    return {};
}

}  // namespace tessera::attacks
