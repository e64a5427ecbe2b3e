// The memory limit of a container, with real processes.
#include <chrono>

#include "gpusim/test_support/cuda_program.hpp"
#include "gpusim/test_support/library.hpp"
#include "guard/hardware/container.hpp"
#include "guard/hardware/figures.hpp"

namespace tessera::guard {
namespace {

using gpusim::ChildProcess;
using gpusim::CudaProgram;
using gpusim::kGiB;
using gpusim::kMiB;
using gpusim::Library;
using gpusim::Wire;

constexpr std::uint64_t kLimit = kGiB;
constexpr std::uint64_t kPiece = 64 * kMiB;
constexpr double kLimitMiB = 1024;

// What `body` returns in a process that uses the container through its facade, in MiB; -1 if it
// failed.
double in_tenant(const HardwareContainer& container,
                 const std::function<std::uint64_t(CudaProgram& tenant)>& body) {
    ChildProcess child([&](Wire& wire) {
        CudaProgram tenant(container.facade());
        wire.send(body(tenant) + 1);
    });
    const std::uint64_t said = child.wire().receive();
    return child.join() == 0 && said != 0 ? static_cast<double>(said - 1) / kMiB : -1;
}

// Allocates pieces until one is refused, or until it is clear that none will be.
std::uint64_t take_all(const std::function<bool()>& take) {
    std::uint64_t bytes = 0;
    while (bytes < 2 * kLimit && take())
        bytes += kPiece;
    return bytes;
}

bool create(const Library& cuda) {
    CUmemAllocationProp properties = {};
    properties.type = CU_MEM_ALLOCATION_TYPE_PINNED;
    properties.location = {CU_MEM_LOCATION_TYPE_DEVICE, 0};
    CUmemGenericAllocationHandle handle = 0;
    return CALL(cuda, cuMemCreate)(&handle, kPiece, &properties, 0) == CUDA_SUCCESS;
}

bool allocate_in_order(const Library& cuda) {
    CUdeviceptr pointer = 0;
    return CALL(cuda, cuMemAllocAsync)(&pointer, kPiece, nullptr) == CUDA_SUCCESS;
}

void check_families(Figures& figures) {
    const HardwareContainer container({.memory_bytes = kLimit});
    container.raise_limit_by_a_context();
    const struct {
        const char* symbol;
        std::function<bool(CudaProgram&)> take;
    } families[] = {
        {"cuMemAlloc_v2",
         [](CudaProgram& tenant) { return tenant.allocate(kPiece) == CUDA_SUCCESS; }},
        {"cuMemCreate", [](CudaProgram& tenant) { return create(tenant.cuda); }},
        {"cuMemAllocAsync", [](CudaProgram& tenant) { return allocate_in_order(tenant.cuda); }},
    };
    for (const auto& family : families) {
        const double got = in_tenant(container, [&](CudaProgram& tenant) {
            return take_all([&] { return family.take(tenant); });
        });
        const std::string name = std::string("got by ") + family.symbol + " under a limit of 1 GiB";
        if (is_hooked(family.symbol)) {
            figures.exactly(name, kLimitMiB, got, "MiB");
        } else {
            figures.shown(name, Figures::number(got, "MiB") + ", not enforced yet");
        }
    }
}

void check_what_is_told(Figures& figures) {
    const HardwareContainer container({.memory_bytes = kLimit});
    figures.exactly("total of cuMemGetInfo", kLimitMiB,
                    in_tenant(container, [](CudaProgram& tenant) { return tenant.total_bytes(); }),
                    "MiB");
    figures.exactly("free of cuMemGetInfo beside 256 MiB", kLimitMiB - 256,
                    in_tenant(container,
                              [&container](CudaProgram& tenant) {
                                  tenant.allocate(256 * kMiB);
                                  return tenant.free_bytes() + container.context_bytes();
                              }),
                    "MiB");
}

void check_out_of_memory(Figures& figures) {
    const HardwareContainer container({.memory_bytes = kLimit});
    container.raise_limit_by_a_context();
    const double got = in_tenant(container, [](CudaProgram& tenant) {
        EXPECT_EQ(tenant.allocate(kLimit), CUDA_SUCCESS);
        EXPECT_EQ(tenant.allocate(2 * kMiB), CUDA_ERROR_OUT_OF_MEMORY);
        EXPECT_EQ(tenant.free_last(), CUDA_SUCCESS);
        EXPECT_EQ(tenant.allocate(kLimit), CUDA_SUCCESS);
        return kLimit;
    });
    figures.exactly("got again after out of memory and a free", kLimitMiB, got, "MiB");
}

// The guard has the memory back at once. The driver has it back once it has cleaned up, and the
// next process may wait for that.
void check_kill(Figures& figures) {
    const HardwareContainer container({.memory_bytes = kLimit});
    container.raise_limit_by_a_context();
    gpusim::start_holder(container.facade(), kLimit)->kill_hard();
    const auto start = std::chrono::steady_clock::now();
    const double got = in_tenant(container, [](CudaProgram& tenant) {
        return tenant.allocate(kLimit) == CUDA_SUCCESS ? kLimit : 0;
    });
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
    figures.exactly("got by the next process after kill -9", kLimitMiB, got, "MiB");
    figures.shown("time until that process had it, with its context",
                  Figures::number(took.count() * 1000, "ms"));
}

void check_processes(Figures& figures) {
    const HardwareContainer container({.memory_bytes = kLimit});
    container.raise_limit_by_a_context();
    container.raise_limit_by_a_context();
    const auto other = gpusim::start_holder(container.facade(), kLimit / 2);
    const double got = in_tenant(container, [](CudaProgram& tenant) {
        return take_all([&] { return tenant.allocate(kPiece) == CUDA_SUCCESS; });
    });
    figures.exactly("got beside a process with 512 MiB", kLimitMiB / 2, got, "MiB");
}

// Runs this program again with the guard preloaded.
void check_preload(Figures& figures) {
    const HardwareContainer container({.memory_bytes = kLimit});
    container.raise_limit_by_a_context();
    const std::string command = "LD_PRELOAD=" + container.guard().string() + " '" +
                                std::filesystem::canonical("/proc/self/exe").string() + "' '" +
                                driver_path().string() + "' take";
    std::FILE* said = popen(command.c_str(), "r");
    double got = -1;
    if (said == nullptr || std::fscanf(said, "%lf", &got) != 1) got = -1;
    if (said != nullptr) pclose(said);
    figures.exactly("got by cuMemAlloc with the guard preloaded", kLimitMiB, got, "MiB");
}

}  // namespace

double take_what_there_is() {
    CudaProgram tenant(driver_path());
    return static_cast<double>(take_all([&] { return tenant.allocate(kPiece) == CUDA_SUCCESS; })) /
           kMiB;
}

void check_memory(Figures& figures) {
    check_families(figures);
    check_what_is_told(figures);
    check_out_of_memory(figures);
    check_kill(figures);
    check_processes(figures);
    check_preload(figures);
}

}  // namespace tessera::guard
