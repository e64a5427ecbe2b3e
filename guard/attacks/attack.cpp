// One attack of attacks.def by its name. Says "done" when it holds what it could get, and holds
// that until its input ends. It is preloaded with the guard, as a tenant's program is.
#include <dlfcn.h>
#include <link.h>
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "api/nvidia/cuda.h"

namespace {

constexpr std::size_t kMiB = std::size_t{1} << 20;
constexpr std::size_t kTaken = 2048 * kMiB;
constexpr std::size_t kStep = 512 * kMiB;

void* library = nullptr;
using Alloc = decltype(&cuMemAlloc_v2);

template <typename Function>
Function by_name(const char* name) {
    return reinterpret_cast<Function>(dlsym(library, name));
}
#define CUDA(symbol) by_name<decltype(&::symbol)>(#symbol)

void load(const char* path = "libcuda.so.1") {
    library = dlopen(path, RTLD_NOW);
    if (library == nullptr) _exit(3);
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

void take(Alloc alloc) {
    CUdeviceptr pointer = 0;
    for (std::size_t taken = 0; alloc != nullptr && taken < kTaken; taken += kStep)
        alloc(&pointer, kStep);
}

Alloc as_alloc(void* function) {
    return reinterpret_cast<Alloc>(function);
}

void dlsym_handle() {
    begin();
    take(CUDA(cuMemAlloc_v2));
}
void dlsym_default() {
    begin();
    dlopen("libcuda.so.1", RTLD_NOW | RTLD_GLOBAL);
    take(as_alloc(dlsym(RTLD_DEFAULT, "cuMemAlloc_v2")));
}
void dlsym_next() {
    begin();
    dlopen("libcuda.so.1", RTLD_NOW | RTLD_GLOBAL);
    take(as_alloc(dlsym(RTLD_NEXT, "cuMemAlloc_v2")));
}
void dlsym_of_libc() {
    begin();
    void* libc = dlopen("libc.so.6", RTLD_NOW);
    const auto own = reinterpret_cast<decltype(&dlsym)>(dlsym(libc, "dlsym"));
    take(as_alloc(own(library, "cuMemAlloc_v2")));
}

std::string driver_path() {
    const link_map* map = nullptr;
    dlinfo(library, RTLD_DI_LINKMAP, static_cast<void*>(&map));
    char* real = realpath(map->l_name, nullptr);
    return real != nullptr ? real : map->l_name;
}
void full_path() {
    load();
    load(driver_path().c_str());
    enter();
    take(CUDA(cuMemAlloc_v2));
}
void copied_driver() {
    load();
    const std::string path = driver_path();
    const std::string state = path.substr(0, path.rfind('/')) + "/gpusim";
    setenv("GPUSIM_DIR", state.c_str(), 1);
    const std::string copy = "/tmp/copied-driver.so." + std::to_string(getpid());
    if (std::system(("cp " + path + " " + copy).c_str()) != 0) _exit(3);
    load(copy.c_str());
    unlink(copy.c_str());
    enter();
    take(CUDA(cuMemAlloc_v2));
}
void dlmopen_handle() {
    library = dlmopen(LM_ID_NEWLM, "libcuda.so.1", RTLD_NOW);
    if (library == nullptr) _exit(3);
    enter();
    take(CUDA(cuMemAlloc_v2));
}

template <typename Ask>
void take_by(const Ask& ask) {
    for (const int version : {3020, 12080, 13000, 13050})
        for (const cuuint64_t flags : {0, 1, 2}) {
            void* function = nullptr;
            ask("cuMemAlloc", &function, version, flags);
            take(as_alloc(function));
        }
}
void proc_address() {
    begin();
    take_by(CUDA(cuGetProcAddress));
}
void proc_address_v2() {
    begin();
    void* found = nullptr;
    CUDA(cuGetProcAddress_v2)("cuGetProcAddress", &found, 12080, 0, nullptr);
    const auto ask = reinterpret_cast<decltype(&cuGetProcAddress_v2)>(found);
    take_by([ask](const char* name, void** function, int version, cuuint64_t flags) {
        ask(name, function, version, flags, nullptr);
    });
}

void take_from(CUmemoryPool pool) {
    CUdeviceptr pointer = 0;
    for (std::size_t taken = 0; taken < kTaken; taken += kStep)
        CUDA(cuMemAllocFromPoolAsync)(&pointer, kStep, pool, nullptr);
}
CUmemoryPool make_pool(CUmemLocation location, CUmemAllocationType type) {
    CUmemPoolProps properties = {};
    properties.allocType = type;
    properties.location = location;
    CUmemoryPool pool = nullptr;
    CUDA(cuMemPoolCreate)(&pool, &properties);
    return pool;
}
void newer_names() {
    begin();
    CUmemLocation device = {CU_MEM_LOCATION_TYPE_DEVICE, 0};
    void* found = nullptr;
    CUDA(cuGetProcAddress_v2)("cuMemGetMemPool", &found, 13000, 0, nullptr);
    if (found == nullptr) return;
    CUmemoryPool pool = nullptr;
    reinterpret_cast<decltype(&cuMemGetMemPool)>(found)(&pool, &device,
                                                        CU_MEM_ALLOCATION_TYPE_PINNED);
    take_from(pool);
}

// The driver's function of that name, by its own tables: the guard is not asked.
void* walk(const link_map* map, const char* wanted) {
    const ElfW(Sym)* symbols = nullptr;
    const char* names = nullptr;
    for (const ElfW(Dyn)* entry = map->l_ld; entry->d_tag != DT_NULL; entry++) {
        if (entry->d_tag == DT_SYMTAB)
            symbols = reinterpret_cast<const ElfW(Sym)*>(entry->d_un.d_ptr);
        if (entry->d_tag == DT_STRTAB) names = reinterpret_cast<const char*>(entry->d_un.d_ptr);
    }
    // The table of names comes behind that of symbols.
    const auto* end = reinterpret_cast<const ElfW(Sym)*>(names);
    for (const ElfW(Sym)* each = symbols; each < end; each++)
        if (each->st_value != 0 && std::strcmp(names + each->st_name, wanted) == 0)
            return reinterpret_cast<void*>(map->l_addr + each->st_value);
    return nullptr;
}
const link_map* map_of(void* handle) {
    const link_map* map = nullptr;
    dlinfo(handle, RTLD_DI_LINKMAP, static_cast<void*>(&map));
    return map;
}
void symbol_walk() {
    begin();
    take(as_alloc(walk(map_of(library), "cuMemAlloc_v2")));
}
void symbol_walk_from_map() {
    library = dlmopen(LM_ID_NEWLM, "libcuda.so.1", RTLD_NOW);
    if (library == nullptr) _exit(3);
    const link_map* map = map_of(library);
    CUcontext context = nullptr;
    reinterpret_cast<decltype(&cuInit)>(walk(map, "cuInit"))(0);
    reinterpret_cast<decltype(&cuCtxCreate_v2)>(walk(map, "cuCtxCreate_v2"))(&context, 0, 0);
    take(as_alloc(walk(map, "cuMemAlloc_v2")));
}

void managed() {
    begin();
    CUdeviceptr pointer = 0;
    for (int i = 0; i < 4; i++)
        if (CUDA(cuMemAllocManaged)(&pointer, kStep, CU_MEM_ATTACH_GLOBAL) == CUDA_SUCCESS)
            CUDA(cuMemsetD8_v2)(pointer, 1, kStep);
}
void rows() {
    begin();
    CUdeviceptr pointer = 0;
    std::size_t pitch = 0;
    for (int i = 0; i < 4; i++)
        CUDA(cuMemAllocPitch_v2)(&pointer, &pitch, kMiB, 512, 4);
}
void array() {
    begin();
    CUarray made = nullptr;
    const CUDA_ARRAY_DESCRIPTOR wanted = {16384, 8192, CU_AD_FORMAT_FLOAT, 1};
    for (int i = 0; i < 4; i++)
        CUDA(cuArrayCreate_v2)(&made, &wanted);
}
void mipmap() {
    begin();
    CUmipmappedArray made = nullptr;
    const CUDA_ARRAY3D_DESCRIPTOR wanted = {16384, 8192, 0, CU_AD_FORMAT_FLOAT, 1, 0};
    for (int i = 0; i < 4; i++)
        CUDA(cuMipmappedArrayCreate)(&made, &wanted, 4);
}
void many_small() {
    begin();
    const auto alloc = CUDA(cuMemAlloc_v2);
    CUdeviceptr pointer = 0;
    for (std::size_t i = 0; i < kTaken / (512 * 1024); i++)
        alloc(&pointer, 512 * 1024);
}
void stream_ordered() {
    begin();
    CUdeviceptr pointer = 0;
    for (int i = 0; i < 4; i++)
        CUDA(cuMemAllocAsync)(&pointer, kStep, nullptr);
}
void own_pool() {
    begin();
    take_from(make_pool({CU_MEM_LOCATION_TYPE_DEVICE, 0}, CU_MEM_ALLOCATION_TYPE_PINNED));
}
void managed_pool() {
    begin();
    take_from(make_pool({CU_MEM_LOCATION_TYPE_HOST, 0}, CU_MEM_ALLOCATION_TYPE_MANAGED));
}
void default_managed_pool() {
    begin();
    CUmemLocation location = {CU_MEM_LOCATION_TYPE_HOST, 0};
    CUmemoryPool pool = nullptr;
    CUDA(cuMemGetDefaultMemPool)(&pool, &location, CU_MEM_ALLOCATION_TYPE_MANAGED);
    take_from(pool);
}
void device_part_pool() {
    begin();
    take_from(
        make_pool({CU_MEM_LOCATION_TYPE_DEVICE_LOCALITY_DOMAIN, 0}, CU_MEM_ALLOCATION_TYPE_PINNED));
}
void destroyed_pools() {
    begin();
    CUdeviceptr pointer = 0;
    for (int i = 0; i < 4; i++) {
        CUmemoryPool pool =
            make_pool({CU_MEM_LOCATION_TYPE_DEVICE, 0}, CU_MEM_ALLOCATION_TYPE_PINNED);
        CUDA(cuMemAllocFromPoolAsync)(&pointer, kStep, pool, nullptr);
        CUDA(cuMemPoolDestroy)(pool);
    }
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
void physical() {
    begin();
    for (int i = 0; i < 4; i++)
        create(CU_MEM_LOCATION_TYPE_DEVICE, CU_MEM_HANDLE_TYPE_NONE);
}
void physical_of_part() {
    begin();
    for (int i = 0; i < 4; i++)
        create(CU_MEM_LOCATION_TYPE_DEVICE_LOCALITY_DOMAIN, CU_MEM_HANDLE_TYPE_NONE);
}
void released_handles() {
    begin();
    for (int i = 0; i < 4; i++) {
        const auto handle = create(CU_MEM_LOCATION_TYPE_DEVICE, CU_MEM_HANDLE_TYPE_NONE);
        CUdeviceptr address = 0;
        CUDA(cuMemAddressReserve)(&address, kStep, 0, 0, 0);
        CUDA(cuMemMap)(address, kStep, 0, handle, 0);
        CUDA(cuMemRelease)(handle);
    }
}
void descriptors_alone() {
    begin();
    for (int i = 0; i < 4; i++) {
        const auto handle =
            create(CU_MEM_LOCATION_TYPE_DEVICE, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR);
        int fd = -1;
        CUDA(cuMemExportToShareableHandle)
        (&fd, handle, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0);
        CUDA(cuMemRelease)(handle);
    }
}

void run(CUgraph graph) {
    CUgraphExec exec = nullptr;
    if (CUDA(cuGraphInstantiateWithFlags)(&exec, graph, 0) != CUDA_SUCCESS) return;
    CUDA(cuGraphLaunch)(exec, nullptr);
    CUDA(cuCtxSynchronize)();
}
void graph_memory() {
    begin();
    for (int i = 0; i < 4; i++) {
        CUgraph graph = nullptr;
        CUgraphNode node = nullptr;
        CUDA_MEM_ALLOC_NODE_PARAMS_v1 wanted = {};
        wanted.poolProps.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
        wanted.poolProps.location = {CU_MEM_LOCATION_TYPE_DEVICE, 0};
        wanted.bytesize = kStep;
        CUDA(cuGraphCreate)(&graph, 0);
        CUDA(cuGraphAddMemAllocNode)(&node, graph, nullptr, 0, &wanted);
        run(graph);
    }
}
void captured_memory() {
    begin();
    CUstream stream = nullptr;
    CUDA(cuStreamCreate)(&stream, CU_STREAM_NON_BLOCKING);
    for (int i = 0; i < 4; i++) {
        CUgraph graph = nullptr;
        CUdeviceptr pointer = 0;
        CUDA(cuStreamBeginCapture_v2)(stream, CU_STREAM_CAPTURE_MODE_RELAXED);
        CUDA(cuMemAllocAsync)(&pointer, kStep, stream);
        CUDA(cuStreamEndCapture)(stream, &graph);
        run(graph);
    }
}
void module_variables() {
    begin();
    const std::string image =
        ".version 6.0\n.global .align 8 .b8 table[" + std::to_string(kStep) + "];\n";
    CUmodule module = nullptr;
    for (int i = 0; i < 4; i++)
        CUDA(cuModuleLoadData)(&module, image.c_str());
}
void heap_limit() {
    begin();
    CUDA(cuCtxSetLimit)(CU_LIMIT_MALLOC_HEAP_SIZE, kTaken);
}
void stack_limit() {
    begin();
    CUDA(cuCtxSetLimit)(CU_LIMIT_STACK_SIZE, 64 * 1024);
}
void many_contexts() {
    begin();
    CUcontext context = nullptr;
    for (int i = 0; i < 20; i++)
        CUDA(cuCtxCreate_v2)(&context, 0, 0);
}
void detached_contexts() {
    begin();
    CUcontext context = nullptr;
    CUcontext attached = nullptr;
    for (int i = 0; i < 20; i++) {
        if (CUDA(cuCtxCreate_v2)(&context, 0, 0) != CUDA_SUCCESS) return;
        CUDA(cuCtxAttach)(&attached, 0);
        CUDA(cuCtxDetach)(context);
    }
}
void green_contexts() {
    begin();
    CUdevResource all = {};
    CUdevResourceDesc description = nullptr;
    CUgreenCtx green = nullptr;
    CUDA(cuDeviceGetDevResource)(0, &all, CU_DEV_RESOURCE_TYPE_SM);
    CUDA(cuDevResourceGenerateDesc)(&description, &all, 1);
    for (int i = 0; i < 100; i++)
        CUDA(cuGreenCtxCreate)(&green, description, 0, CU_GREEN_CTX_DEFAULT_STREAM);
}

void forked() {
    if (fork() == 0) {
        begin();
        take(CUDA(cuMemAlloc_v2));
        std::printf("done\n");
        std::fflush(stdout);
        std::getchar();
        _exit(0);
    }
    wait(nullptr);
    _exit(0);
}
void cloned() {
    if (syscall(SYS_clone, SIGCHLD, nullptr, nullptr, nullptr, nullptr) == 0) {
        begin();
        take(CUDA(cuMemAlloc_v2));
        std::printf("done\n");
        std::fflush(stdout);
        std::getchar();
        _exit(0);
    }
    wait(nullptr);
    _exit(0);
}
void executed() {
    char name[] = "guard_attack";
    char way[] = "dlsym_handle";
    char* arguments[] = {name, way, nullptr};
    char* nothing[] = {nullptr};
    execve("/proc/self/exe", arguments, nothing);
}
void threads() {
    begin();
    CUcontext context = nullptr;
    CUDA(cuCtxGetCurrent)(&context);
    std::vector<std::thread> all;
    for (int i = 0; i < 8; i++)
        all.emplace_back([context] {
            CUDA(cuCtxSetCurrent)(context);
            take(CUDA(cuMemAlloc_v2));
        });
    for (std::thread& each : all)
        each.join();
}

Alloc kept_alloc = nullptr;
void in_signal_handler() {
    begin();
    constexpr char kSpin[] =
        "//gpusim spin block_ns=500000000\n.version 6.0\n.visible .entry spin()\n";
    CUmodule module = nullptr;
    CUfunction spin = nullptr;
    CUDA(cuModuleLoadData)(&module, kSpin);
    CUDA(cuModuleGetFunction)(&spin, module, "spin");
    kept_alloc = CUDA(cuMemAlloc_v2);
    signal(SIGALRM, [](int) { take(kept_alloc); });
    CUDA(cuLaunchKernel)(spin, 1, 1, 1, 1, 1, 1, 0, nullptr, nullptr, nullptr);
    const itimerval soon = {{0, 0}, {0, 100'000}};
    setitimer(ITIMER_REAL, &soon, nullptr);
    CUDA(cuStreamSynchronize)(nullptr);
}

void dlclose_guard() {
    begin();
    void* guard = dlopen("libtessera-guard.so", RTLD_NOW | RTLD_NOLOAD);
    for (int i = 0; i < 10 && guard != nullptr; i++)
        dlclose(guard);
    take(CUDA(cuMemAlloc_v2));
}

// The guard's code and where the accounts are mapped, as the kernel tells it.
struct Part {
    std::uintptr_t begin = 0;
    std::uintptr_t end = 0;
    std::string path;
};
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
    void* driver = walk(map_of(library), "cuMemAlloc_v2");
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
    mmap(reinterpret_cast<void*>(accounts.begin), size, PROT_READ | PROT_WRITE,
         MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
    std::memcpy(reinterpret_cast<void*>(accounts.begin), copy.data(), size);
    take_and_clear(reinterpret_cast<unsigned char*>(accounts.begin), size);
}
void truncated_accounts() {
    begin();
    const Part accounts = find_part("/accounts", "rw-s");
    if (truncate(accounts.path.c_str(), 0) != 0) _exit(3);
    take(CUDA(cuMemAlloc_v2));
}
void overwritten_magic() {
    load();
    Dl_info about = {};
    dladdr(reinterpret_cast<void*>(CUDA(cuMemAlloc_v2)), &about);
    const std::string guard = about.dli_fname;
    const std::string accounts = guard.substr(0, guard.rfind('/')) + "/accounts";
    std::FILE* file = std::fopen(accounts.c_str(), "r+b");
    if (file == nullptr) _exit(3);
    std::fwrite("nonsense", 8, 1, file);
    std::fclose(file);
    enter();
    take(CUDA(cuMemAlloc_v2));
}

struct Attack {
    const char* name;
    void (*run)();
};
constexpr Attack kAttacks[] = {
#define ATTACK(name, verdict, text) {#name, name},
#include "guard/attacks/attacks.def"
#undef ATTACK
};

}  // namespace

int main(int count, char** arguments) {
    for (const Attack& each : kAttacks) {
        if (count != 2 || std::strcmp(arguments[1], each.name) != 0) continue;
        each.run();
        std::printf("done\n");
        std::fflush(stdout);
        std::getchar();
        _exit(0);
    }
    return 2;
}
