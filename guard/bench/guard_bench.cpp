// What the guard costs: an allocation and its free compared with the bare pair, and the start of a
// process, alone and as one of 64. The driver is a stub that does nothing, so nothing hides the
// cost. Both sides of each difference are measured alternately in one run. Goals:
// docs/internals/guard.md.
#include <dlfcn.h>
#include <spawn.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <stdexcept>
#include <string>
#include <vector>

#include "api/nvidia/cuda.h"
#include "guard/region/limits.hpp"
#include "guard/test_support/test_region.hpp"

namespace tessera::guard {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

constexpr RegionGpu kGpu{"GPU-00000000-0000-0000-0000-000000000000", std::uint64_t{4} << 40, 0};

double nanoseconds_since(Clock::time_point start) {
    return std::chrono::duration<double, std::nano>(Clock::now() - start).count();
}

double median(std::vector<double> samples) {
    std::ranges::sort(samples);
    return samples[samples.size() / 2];
}

bool at_most(const std::string& figure, double goal, double measured, const char* unit) {
    const bool holds = measured <= goal;
    std::printf("%s | <= %g %s | %.3g %s | %s\n", figure.c_str(), goal, unit, measured, unit,
                holds ? "holds" : "falls short");
    return holds;
}

// One library's functions, as a program finds them.
struct Cuda {
    explicit Cuda(const fs::path& path) : handle(dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL)) {
        if (handle == nullptr) throw std::runtime_error(dlerror());
        alloc = reinterpret_cast<decltype(alloc)>(dlsym(handle, "cuMemAlloc_v2"));
        free = reinterpret_cast<decltype(free)>(dlsym(handle, "cuMemFree_v2"));
        launch = reinterpret_cast<decltype(launch)>(dlsym(handle, "cuLaunchKernel"));
    }
    CUdeviceptr take(std::size_t bytes) const {
        CUdeviceptr pointer = 0;
        if (alloc(&pointer, bytes) != CUDA_SUCCESS) throw std::runtime_error("cuMemAlloc");
        return pointer;
    }

    void* handle;
    decltype(&::cuMemAlloc_v2) alloc = nullptr;
    decltype(&::cuMemFree_v2) free = nullptr;
    decltype(&::cuLaunchKernel) launch = nullptr;
};

// The cost of an alloc and a free of whole allocation units, in ns.
double pair_cost(const Cuda& cuda) {
    constexpr int kPairs = 20000;
    const auto start = Clock::now();
    for (int i = 0; i < kPairs; i++)
        cuda.free(cuda.take(kAllocationUnitBytes));
    return nanoseconds_since(start) / kPairs;
}

// What the guard adds to a pair while `live` allocations exist, in ns.
double added_to_pair(const Cuda& bare, const Cuda& guarded, int live) {
    constexpr int kRounds = 41;
    std::vector<CUdeviceptr> kept;
    kept.reserve(static_cast<std::size_t>(live));
    for (int i = 0; i < live; i++)
        kept.push_back(guarded.take(kAllocationUnitBytes));
    std::vector<double> added;
    for (int round = 0; round < kRounds; round++) {
        const double without = pair_cost(bare);
        added.push_back(pair_cost(guarded) - without);
    }
    for (const CUdeviceptr pointer : kept)
        guarded.free(pointer);
    return median(added);
}

double thread_cpu_ns() {
    timespec now = {};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return static_cast<double>(now.tv_sec) * 1e9 + static_cast<double>(now.tv_nsec);
}

// The cost of a launch in ns of the thread's CPU time, because other processes may have the core
// meanwhile. Uses `streams` streams in rotation; 1 means the default stream.
double launch_cost(const Cuda& cuda, unsigned streams = 1) {
    constexpr unsigned kLaunches = 200000;
    static char made[64][256];  // streams are addresses, and the stub never looks there
    static int kernel = 0;
    auto* const function = reinterpret_cast<CUfunction>(&kernel);
    const double start = thread_cpu_ns();
    for (unsigned i = 0; i < kLaunches; i++) {
        auto* const stream = reinterpret_cast<CUstream>(made[i % streams]);
        cuda.launch(function, 1, 1, 1, 1, 1, 1, 0, streams > 1 ? stream : nullptr, nullptr,
                    nullptr);
    }
    return (thread_cpu_ns() - start) / kLaunches;
}

double added_to_launch(const Cuda& bare, const Cuda& guarded, unsigned streams = 1) {
    constexpr int kRounds = 101;
    std::vector<double> added;
    for (int round = 0; round < kRounds; round++) {
        const double without = launch_cost(bare, streams);
        added.push_back(launch_cost(guarded, streams) - without);
    }
    return median(added);
}

// Processes of the same container that launch continuously.
class Launchers {
  public:
    Launchers(const Cuda& guarded, int count) {
        for (int i = 0; i < count; i++) {
            const pid_t pid = fork();
            if (pid < 0) throw std::runtime_error("fork");
            if (pid > 0) {
                pids_.push_back(pid);
                continue;
            }
            prctl(PR_SET_PDEATHSIG, SIGKILL);
            for (;;)
                launch_cost(guarded);
        }
    }
    ~Launchers() {
        for (const pid_t pid : pids_) {
            kill(pid, SIGKILL);
            waitpid(pid, nullptr, 0);
        }
    }
    Launchers(const Launchers&) = delete;
    Launchers& operator=(const Launchers&) = delete;

  private:
    std::vector<pid_t> pids_;
};

bool bench_launches(const Cuda& bare, const Cuda& guarded) {
    bool holds = at_most("added to cuLaunchKernel, time shared out", 10,
                         added_to_launch(bare, guarded), "ns");
    holds &= at_most("added to cuLaunchKernel, 8 streams in turn", 10,
                     added_to_launch(bare, guarded, 8), "ns");
    const Launchers others(guarded, 8);
    holds &= at_most("added to cuLaunchKernel, 8 other processes launching", 10,
                     added_to_launch(bare, guarded), "ns");
    return holds;
}

class Programs {
  public:
    Programs(const fs::path& libraries, const fs::path& program)
        : program_(program), environment_("LD_LIBRARY_PATH=" + libraries.string()) {}

    // From the start of one to its end, in ms.
    [[nodiscard]] double run() const {
        const auto start = Clock::now();
        int status = 0;
        const pid_t pid = spawn({}, nullptr);
        if (waitpid(pid, &status, 0) != pid || status != 0) throw std::runtime_error("no start");
        return nanoseconds_since(start) / 1e6;
    }
    // Starts one that lives until `keep_alive` is closed.
    void keep(std::vector<pid_t>& pids, const int (&keep_alive)[2]) const {
        int said[2];
        if (pipe(said) != 0) throw std::runtime_error("pipe");
        posix_spawn_file_actions_t files;
        posix_spawn_file_actions_init(&files);
        posix_spawn_file_actions_adddup2(&files, keep_alive[0], 0);
        posix_spawn_file_actions_adddup2(&files, said[1], 1);
        for (const int fd : {keep_alive[0], keep_alive[1], said[0], said[1]})
            posix_spawn_file_actions_addclose(&files, fd);
        pids.push_back(spawn("stay", &files));
        posix_spawn_file_actions_destroy(&files);
        close(said[1]);
        char byte = 0;
        if (read(said[0], &byte, 1) != 1) throw std::runtime_error("no start");
        close(said[0]);
    }

  private:
    [[nodiscard]] pid_t spawn(std::string argument, posix_spawn_file_actions_t* files) const {
        std::string program = program_.string();
        std::string environment = environment_;
        char* arguments[] = {program.data(), argument.empty() ? nullptr : argument.data(), nullptr};
        char* variables[] = {environment.data(), nullptr};
        pid_t pid = 0;
        if (posix_spawn(&pid, program.c_str(), files, nullptr, arguments, variables) != 0)
            throw std::runtime_error("posix_spawn " + program);
        return pid;
    }

    fs::path program_;
    std::string environment_;
};

// What the guard adds to the start of a process, in ms.
double added_to_start(const Programs& bare, const Programs& guarded) {
    constexpr int kStarts = 301;
    std::vector<double> without;
    std::vector<double> with;
    for (int i = 0; i < kStarts; i++) {
        without.push_back(bare.run());
        with.push_back(guarded.run());
    }
    return median(with) - median(without);
}

bool bench_starts(const fs::path& stub, const fs::path& guarded_folder, const fs::path& program) {
    const Programs bare(stub, program);
    const Programs guarded(guarded_folder, program);
    const double alone = added_to_start(bare, guarded);
    bool holds = at_most("added to the start of a process", 1, alone, "ms");
    int keep_alive[2];
    if (pipe(keep_alive) != 0) throw std::runtime_error("pipe");
    std::vector<pid_t> pids;
    for (int i = 0; i < 63; i++)
        guarded.keep(pids, keep_alive);
    const double crowded = added_to_start(bare, guarded);
    std::printf("added to the start of the 64th process | - | %.3g ms | -\n", crowded);
    holds &= at_most("added to the start of the 64th, beside the first", 2, crowded / alone, "x");
    close(keep_alive[0]);
    close(keep_alive[1]);
    for (const pid_t pid : pids)
        waitpid(pid, nullptr, 0);
    return holds;
}

bool bench(const fs::path& build) {
    const TestRegion region({kGpu});
    const fs::path stub = build / "guard/stub";
    for (const char* library : {"libcuda.so.1", "libtessera-guard.so"})
        fs::copy_file(build / "guard/lib" / library, region.directory() / library);
    fs::create_symlink(stub / "libcuda.so.1", region.directory() / "libtessera-real-cuda.so.1");
    bool holds = bench_starts(stub, region.directory(), build / "bin/guard_start");
    const Cuda bare(stub / "libcuda.so.1");
    const Cuda guarded(region.directory() / "libcuda.so.1");
    change_limits(region.path(kLimitsName).c_str())->gpus[0].is_timed.store(1);
    holds &= bench_launches(bare, guarded);
    for (const int live : {10, 1000, 100000}) {
        const std::string figure =
            "added to cuMemAlloc and cuMemFree, " + std::to_string(live) + " live";
        holds &= at_most(figure, 200, added_to_pair(bare, guarded, live), "ns");
    }
    return holds;
}

}  // namespace
}  // namespace tessera::guard

int main() {
    std::setvbuf(stdout, nullptr, _IOLBF, 0);
    std::printf("figure | goal | measured | holds\n");
    try {
        return tessera::guard::bench(TESSERA_BINARY_DIR) ? 0 : 1;
    } catch (const std::exception& error) {
        std::fprintf(stderr, "guard_bench: %s\n", error.what());
        return 2;
    }
}
