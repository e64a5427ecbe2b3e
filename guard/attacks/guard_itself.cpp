// Attacks on the guard's own code and accounts.
#include <dlfcn.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "guard/attacks/attack.hpp"
#include "guard/region/account.hpp"

namespace tessera::attacks {

void dlclose_guard() {
    begin();
    void* guard = dlopen("libtessera-guard.so", RTLD_NOW | RTLD_NOLOAD);
    for (int i = 0; i < 10 && guard != nullptr; i++)
        dlclose(guard);
    take(CUDA(cuMemAlloc_v2));
}

void unmapped_guard() {
    begin();
    const Alloc alloc = CUDA(cuMemAlloc_v2);
    const Part code = find_part("libtessera-guard.so", "r-xp");
    munmap(reinterpret_cast<void*>(code.begin), code.end - code.begin);
    take(alloc);
}
void patched_guard() {
    begin();
    const Alloc hook = CUDA(cuMemAlloc_v2);
    const auto driver = reinterpret_cast<std::uintptr_t>(unguarded_alloc());
    auto* code = reinterpret_cast<unsigned char*>(hook);
    const std::uintptr_t page = reinterpret_cast<std::uintptr_t>(code) & ~std::uintptr_t{4095};
    mprotect(reinterpret_cast<void*>(page), 8192, PROT_READ | PROT_WRITE | PROT_EXEC);
    const unsigned char jump[] = {0x48, 0xb8};  // mov rax, driver; jmp rax
    std::memcpy(code, jump, 2);
    std::memcpy(code + 2, &driver, sizeof driver);
    code[10] = 0xff;
    code[11] = 0xe0;
    take(hook);
}

void take_and_clear(unsigned char* accounts, std::size_t size) {
    const Alloc alloc = CUDA(cuMemAlloc_v2);
    CUdeviceptr pointer = 0;
    for (int i = 0; i < 4; i++) {
        alloc(&pointer, kStep);
        std::memset(accounts + 64, 0, size - 64);
    }
}
void cleared_accounts() {
    begin();
    const Part accounts = find_part("/accounts", "rw-s");
    take_and_clear(reinterpret_cast<unsigned char*>(accounts.begin), accounts.end - accounts.begin);
}
void private_accounts() {
    begin();
    const Part accounts = find_part("/accounts", "rw-s");
    const std::size_t size = accounts.end - accounts.begin;
    std::vector<char> copy(size);
    std::memcpy(copy.data(), reinterpret_cast<void*>(accounts.begin), size);
    if (mmap(reinterpret_cast<void*>(accounts.begin), size, PROT_READ | PROT_WRITE,
             MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == MAP_FAILED)
        give_up("the accounts cannot be mapped again");
    std::memcpy(reinterpret_cast<void*>(accounts.begin), copy.data(), size);
    take_and_clear(reinterpret_cast<unsigned char*>(accounts.begin), size);
}
void truncated_accounts() {
    begin();
    const Part accounts = find_part("/accounts", "rw-s");
    if (truncate(accounts.path.c_str(), 0) != 0) give_up("truncate");
    take(CUDA(cuMemAlloc_v2));
}
void overwritten_magic() {
    load();
    Dl_info about = {};
    dladdr(reinterpret_cast<void*>(CUDA(cuMemAlloc_v2)), &about);
    const std::string guard = about.dli_fname;
    const std::string accounts = guard.substr(0, guard.rfind('/')) + "/accounts";
    std::FILE* file = std::fopen(accounts.c_str(), "r+b");
    if (file == nullptr) give_up("the accounts");
    std::fwrite("nonsense", 8, 1, file);
    std::fclose(file);
    enter();
    take(CUDA(cuMemAlloc_v2));
}

// Takes 2 GiB around the guard, after it has charged the accounts with them.
void forged_charges() {
    begin();
    const Part part = find_part("/accounts", "rw-s");
    auto& accounts = *reinterpret_cast<guard::Accounts*>(part.begin);
    int own = 0;
    while (accounts.slots[own].pid.load() != getpid())
        own++;
    guard::reserve(accounts, 0, own, guard::units_of(kTaken), guard::kMaxAllocationUnits);
    take(unguarded_alloc());
}
// Raises the limits in the file that LIMITS_FILE names.
void raised_limits() {
    const char* path = getenv("LIMITS_FILE");
    const int file = path != nullptr ? open(path, O_RDWR) : -1;
    if (file < 0) give_up("the limits cannot be opened");
    void* mapped =
        mmap(nullptr, sizeof(guard::Limits), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (mapped == MAP_FAILED) give_up("the limits cannot be mapped");
    auto& limit = static_cast<guard::Limits*>(mapped)->gpus[0];
    limit.most_memory = guard::units_of(2 * kTaken);
    limit.memory = guard::units_of(2 * kTaken);
    begin();
    take(CUDA(cuMemAlloc_v2));
}
void small_bypass() {
    begin();
    take(CUDA(cuMemAlloc_v2));
    take(unguarded_alloc(), kStep);
}

// The agent looks every four or five seconds. This has memory for less than three looks, and none
// for more than one look.
void intermittent_bypass() {
    begin();
    const auto release =
        reinterpret_cast<decltype(&cuMemFree_v2)>(walk(map_of(library), "cuMemFree_v2"));
    for (bool is_first = true;; is_first = false) {
        CUdeviceptr taken[4] = {};
        for (CUdeviceptr& each : taken)
            unguarded_alloc()(&each, kStep);
        if (is_first) std::printf("done\n");
        std::fflush(stdout);
        usleep(7'000'000);
        for (const CUdeviceptr each : taken)
            release(each);
        usleep(6'000'000);
    }
}
void unguarded_descriptors() {
    begin();
    const link_map* map = map_of(library);
    const auto make = reinterpret_cast<decltype(&cuMemCreate)>(walk(map, "cuMemCreate"));
    const auto release = reinterpret_cast<decltype(&cuMemRelease)>(walk(map, "cuMemRelease"));
    const auto give = reinterpret_cast<decltype(&cuMemExportToShareableHandle)>(
        walk(map, "cuMemExportToShareableHandle"));
    CUmemAllocationProp properties = {};
    properties.type = CU_MEM_ALLOCATION_TYPE_PINNED;
    properties.requestedHandleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
    properties.location = {CU_MEM_LOCATION_TYPE_DEVICE, 0};
    for (int i = 0; i < 4; i++) {
        CUmemGenericAllocationHandle made = 0;
        int fd = -1;
        make(&made, kStep, &properties, 0);
        give(&fd, made, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0);
        release(made);
    }
}

}  // namespace tessera::attacks
