// Goal: NVML shows a container its share and its processes, and nothing else. A query takes
// nothing, changes nothing and needs no permissions. Method: the facades of both libraries in front
// of the simulated driver, and gpusmi preloaded.
#include "api/nvidia/nvml.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <fstream>
#include <sstream>

#include "gpusim/test_support/child_process.hpp"
#include "gpusim/test_support/cuda_program.hpp"
#include "gpusim/test_support/descriptor_pipe.hpp"
#include "guard/region/account.hpp"
#include "guard/test_support/guarded_container.hpp"

namespace tessera::guard {
namespace {

using gpusim::ChildProcess;
using gpusim::CudaProgram;
using gpusim::in_child;
using gpusim::kGiB;
using gpusim::kMiB;
using gpusim::Library;
using gpusim::output_of;
using gpusim::SimulatedNode;
using gpusim::start_holder;

constexpr char kGpus[] =
    "gpus:\n"
    "  - {model: A, memory: 8GiB, reserved: 256MiB, context_overhead: 100MiB}\n"
    "  - {model: B, memory: 8GiB}\n";

class GuardNvml : public testing::Test {
  protected:
    SimulatedNode node_{kGpus};
    GuardedContainer container_{node_, {{0, kGiB, 100 * kMiB}}};

    std::unique_ptr<ChildProcess> holder(std::uint64_t bytes) const {
        return start_holder(container_.facade(), bytes);
    }
    // In a process of the container that calls NVML.
    template <typename Body>
    void with_nvml(Body body) const {
        in_child([&] {
            const Library nvml(container_.nvml_facade());
            ASSERT_EQ(CALL(nvml, nvmlInit_v2)(), NVML_SUCCESS);
            body(nvml);
        });
    }
    static nvmlDevice_t gpu(const Library& nvml, unsigned index) {
        nvmlDevice_t device = nullptr;
        EXPECT_EQ(CALL(nvml, nvmlDeviceGetHandleByIndex_v2)(index, &device), NVML_SUCCESS);
        return device;
    }
    static nvmlMemory_t memory(const Library& nvml) {
        nvmlMemory_t memory = {};
        EXPECT_EQ(CALL(nvml, nvmlDeviceGetMemoryInfo)(gpu(nvml, 0), &memory), NVML_SUCCESS);
        return memory;
    }
    // Sorted by pid.
    static std::vector<nvmlProcessInfo_t> processes(const Library& nvml) {
        std::vector<nvmlProcessInfo_t> found(8);
        auto count = static_cast<unsigned>(found.size());
        EXPECT_EQ(
            CALL(nvml, nvmlDeviceGetComputeRunningProcesses_v3)(gpu(nvml, 0), &count, found.data()),
            NVML_SUCCESS);
        found.resize(count);
        std::ranges::sort(found, {}, &nvmlProcessInfo_t::pid);
        return found;
    }
    // Calls `body(list, info, name)` for each of the nine functions that list processes.
    template <typename Body>
    static void each_list(const Library& nvml, Body body) {
#define LIST(kind)                                                                             \
    body(CALL(nvml, nvmlDeviceGet##kind##RunningProcesses), nvmlProcessInfo_v1_t{}, #kind);    \
    body(CALL(nvml, nvmlDeviceGet##kind##RunningProcesses_v2), nvmlProcessInfo_v2_t{}, #kind); \
    body(CALL(nvml, nvmlDeviceGet##kind##RunningProcesses_v3), nvmlProcessInfo_t{}, #kind)
        LIST(Compute);
        LIST(Graphics);
        LIST(MPSCompute);
#undef LIST
    }
};

TEST_F(GuardNvml, ShowsTheShareAsIfItWereTheGpu) {
    const auto process = holder(500 * kMiB);
    with_nvml([](const Library& nvml) {
        const nvmlMemory_t first = memory(nvml);
        EXPECT_EQ(first.total, kGiB);
        EXPECT_EQ(first.used, 600 * kMiB);
        EXPECT_EQ(first.free, 424 * kMiB);
        nvmlMemory_v2_t second = {};
        second.version = nvmlMemory_v2;
        EXPECT_EQ(CALL(nvml, nvmlDeviceGetMemoryInfo_v2)(gpu(nvml, 0), &second), NVML_SUCCESS);
        EXPECT_EQ(second.total, kGiB);
        EXPECT_EQ(second.reserved, 0U);
        EXPECT_EQ(second.used, 600 * kMiB);
        EXPECT_EQ(second.free, 424 * kMiB);
    });
}

TEST_F(GuardNvml, ALimitThatIsChangedIsSeen) {
    const auto process = holder(500 * kMiB);
    with_nvml([this](const Library& nvml) {
        EXPECT_EQ(memory(nvml).total, kGiB);
        container_.limits().gpus[0].memory = units_of(512 * kMiB);
        EXPECT_EQ(memory(nvml).total, 512 * kMiB);
        EXPECT_EQ(memory(nvml).used, 512 * kMiB) << "more is held, but not of this GPU";
        EXPECT_EQ(memory(nvml).free, 0U);
        container_.limits().gpus[0].memory = units_of(100 * kGiB);
        EXPECT_EQ(memory(nvml).total, 8 * kGiB) << "not more than the GPU has";
    });
}

TEST_F(GuardNvml, ListsTheProcessesOfThisContainer) {
    const GuardedContainer other(node_, {{0, kGiB, 100 * kMiB}});
    const auto stranger = start_holder(other.facade(), 300 * kMiB);
    const auto first = holder(100 * kMiB);
    const auto second = holder(200 * kMiB);
    with_nvml([&](const Library& nvml) {
        const auto found = processes(nvml);
        ASSERT_EQ(found.size(), 2U);
        const bool is_in_order = first->pid() < second->pid();
        EXPECT_EQ(found[is_in_order ? 0 : 1].pid, static_cast<unsigned>(first->pid()));
        EXPECT_EQ(found[is_in_order ? 0 : 1].usedGpuMemory, 200 * kMiB);
        EXPECT_EQ(found[is_in_order ? 1 : 0].usedGpuMemory, 300 * kMiB);
        EXPECT_EQ(found[0].gpuInstanceId, 0xFFFFFFFFU);
        EXPECT_EQ(found[0].computeInstanceId, 0xFFFFFFFFU);
        EXPECT_EQ(memory(nvml).used, 500 * kMiB);
    });
}

TEST_F(GuardNvml, ListsByProtocol) {
    const auto first = holder(100 * kMiB);
    with_nvml([&](const Library& nvml) {
        each_list(nvml, [&](auto list, auto info, const std::string& kind) {
            const bool is_listed = kind == "Compute";
            unsigned count = 0;
            EXPECT_EQ(list(gpu(nvml, 0), &count, nullptr),
                      is_listed ? NVML_ERROR_INSUFFICIENT_SIZE : NVML_SUCCESS);
            EXPECT_EQ(count, is_listed ? 1U : 0U);
            count = 1;
            EXPECT_EQ(list(gpu(nvml, 0), &count, &info), NVML_SUCCESS);
            EXPECT_EQ(count, is_listed ? 1U : 0U) << kind;
            EXPECT_EQ(info.pid, is_listed ? static_cast<unsigned>(first->pid()) : 0U);
            EXPECT_EQ(info.usedGpuMemory, is_listed ? 200 * kMiB : 0U);
            EXPECT_EQ(list(gpu(nvml, 0), nullptr, &info), NVML_ERROR_INVALID_ARGUMENT);
            count = 1;
            EXPECT_EQ(list(gpu(nvml, 0), &count, nullptr), NVML_ERROR_INVALID_ARGUMENT);
            EXPECT_EQ(list(nullptr, &count, &info), NVML_ERROR_INVALID_ARGUMENT);
        });
    });
}

// This process has the descriptor of a dead process.
TEST_F(GuardNvml, WhatOnlyADescriptorHoldsIsUsedUntilItIsClosed) {
    gpusim::DescriptorPipe pipe;
    ChildProcess maker([&](gpusim::Wire& wire) {
        const CudaProgram tenant(container_.facade());
        CUmemAllocationProp properties = {};
        properties.type = CU_MEM_ALLOCATION_TYPE_PINNED;
        properties.requestedHandleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
        properties.location = {CU_MEM_LOCATION_TYPE_DEVICE, 0};
        CUmemGenericAllocationHandle handle = 0;
        int fd = -1;
        EXPECT_EQ(CALL(tenant.cuda, cuMemCreate)(&handle, 300 * kMiB, &properties, 0),
                  CUDA_SUCCESS);
        EXPECT_EQ(CALL(tenant.cuda, cuMemExportToShareableHandle)(
                      &fd, handle, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0),
                  CUDA_SUCCESS);
        EXPECT_EQ(CALL(tenant.cuda, cuMemRelease)(handle), CUDA_SUCCESS);
        pipe.send(fd);
        wire.send();
        wire.receive();
    });
    EXPECT_EQ(maker.wire().receive(), 1U);
    with_nvml([&](const Library& nvml) { EXPECT_EQ(memory(nvml).used, 400 * kMiB); });
    maker.kill_hard();
    container_.region().reap();
    with_nvml([&](const Library& nvml) {
        EXPECT_EQ(memory(nvml).used, 300 * kMiB);
        EXPECT_TRUE(processes(nvml).empty());
        close(pipe.receive());
        EXPECT_EQ(memory(nvml).used, 0U);
    });
    EXPECT_EQ(held(container_.region().accounts(), 0), units_of(300 * kMiB)) << "only looked at";
}

// No process has released what the dead ones held, and a read-only process cannot.
TEST_F(GuardNvml, TheDeadHoldNothing) {
    const auto living = holder(100 * kMiB);
    holder(500 * kMiB)->kill_hard();
    with_nvml([&](const Library& nvml) {
        EXPECT_EQ(memory(nvml).used, 200 * kMiB);
        const auto found = processes(nvml);
        ASSERT_EQ(found.size(), 1U);
        EXPECT_EQ(found[0].pid, static_cast<unsigned>(living->pid()));
    });
    EXPECT_EQ(held(container_.region().accounts(), 0), units_of(800 * kMiB));
}

TEST_F(GuardNvml, AGpuWithoutAShareIsNobodysBusiness) {
    with_nvml([](const Library& nvml) {
        nvmlMemory_t first = {1, 2, 3};
        EXPECT_EQ(CALL(nvml, nvmlDeviceGetMemoryInfo)(gpu(nvml, 1), &first),
                  NVML_ERROR_NO_PERMISSION);
        EXPECT_EQ(first.total, 1U) << "not even what it is";
        nvmlMemory_v2_t second = {};
        second.version = nvmlMemory_v2;
        EXPECT_EQ(CALL(nvml, nvmlDeviceGetMemoryInfo_v2)(gpu(nvml, 1), &second),
                  NVML_ERROR_NO_PERMISSION);
        EXPECT_EQ(second.total, 0U);
        each_list(nvml, [&](auto list, auto info, const std::string&) {
            unsigned count = 1;
            EXPECT_EQ(list(gpu(nvml, 1), &count, &info), NVML_ERROR_NO_PERMISSION);
        });
    });
}

TEST_F(GuardNvml, WhatIsWrongNvmlSaysItself) {
    with_nvml([this](const Library& nvml) {
        nvmlDevice_t device = gpu(nvml, 0);
        nvmlMemory_t first = {};
        EXPECT_EQ(CALL(nvml, nvmlDeviceGetMemoryInfo)(device, nullptr),
                  NVML_ERROR_INVALID_ARGUMENT);
        EXPECT_EQ(CALL(nvml, nvmlDeviceGetMemoryInfo)(nullptr, &first),
                  NVML_ERROR_INVALID_ARGUMENT);
        nvmlMemory_v2_t second = {};
        EXPECT_EQ(CALL(nvml, nvmlDeviceGetMemoryInfo_v2)(device, &second),
                  NVML_ERROR_ARGUMENT_VERSION_MISMATCH);
        ASSERT_EQ(node_.control("lose 0"), 0);
        EXPECT_EQ(CALL(nvml, nvmlDeviceGetMemoryInfo)(device, &first), NVML_ERROR_GPU_IS_LOST);
        unsigned count = 0;
        EXPECT_EQ(CALL(nvml, nvmlDeviceGetComputeRunningProcesses_v3)(device, &count, nullptr),
                  NVML_ERROR_GPU_IS_LOST);
        ASSERT_EQ(node_.control("recover 0"), 0);
        EXPECT_EQ(CALL(nvml, nvmlShutdown)(), NVML_SUCCESS);
        EXPECT_EQ(CALL(nvml, nvmlDeviceGetMemoryInfo)(device, &first), NVML_ERROR_UNINITIALIZED);
    });
}

TEST_F(GuardNvml, AQueryTakesNoProcessSlotAndNoDriver) {
    const auto process = holder(100 * kMiB);
    const auto slots = container_.region().accounts().next_slot.load();
    with_nvml([](const Library& nvml) {
        const int before = dup(0);
        close(before);
        EXPECT_EQ(memory(nvml).used, 200 * kMiB);
        EXPECT_EQ(processes(nvml).size(), 1U);
        const int after = dup(0);
        EXPECT_EQ(before, after) << "a descriptor is left";
        std::stringstream maps;
        maps << std::ifstream("/proc/self/maps").rdbuf();
        EXPECT_EQ(maps.str().find("libcuda"), std::string::npos);
    });
    EXPECT_EQ(container_.region().accounts().next_slot.load(), slots);
}

TEST_F(GuardNvml, WhoAsksMayNotWrite) {
    if (geteuid() != 0) GTEST_SKIP() << "needs root, whose rights it drops";
    const auto process = holder(100 * kMiB);
    std::filesystem::permissions(container_.region().path(kAccountsName),
                                 static_cast<std::filesystem::perms>(0444));
    in_child([this] {
        ASSERT_EQ(setgid(65534), 0);
        ASSERT_EQ(setuid(65534), 0);
        const Library nvml(container_.nvml_facade());
        ASSERT_EQ(CALL(nvml, nvmlInit_v2)(), NVML_SUCCESS);
        EXPECT_EQ(memory(nvml).used, 200 * kMiB);
        EXPECT_EQ(processes(nvml).size(), 1U);
    });
}

TEST_F(GuardNvml, AskingLosesNothingOfOnesOwn) {
    const ChildProcess both([this](gpusim::Wire&) {
        CudaProgram tenant(container_.facade());
        const Library nvml(container_.nvml_facade());
        ASSERT_EQ(tenant.allocate(100 * kMiB), CUDA_SUCCESS);
        ASSERT_EQ(CALL(nvml, nvmlInit_v2)(), NVML_SUCCESS);
        const auto found = processes(nvml);
        ASSERT_EQ(found.size(), 1U);
        EXPECT_EQ(found[0].pid, static_cast<unsigned>(getpid()));
        EXPECT_EQ(found[0].usedGpuMemory, 200 * kMiB);
        EXPECT_EQ(memory(nvml).free, tenant.free_bytes()) << "as CUDA says";
        EXPECT_EQ(container_.region().reap(), 0U) << "it is still alive";
    });
}

TEST_F(GuardNvml, WithoutARegionNothingIsShown) {
    std::filesystem::remove(container_.region().path(kAccountsName));
    with_nvml([this](const Library& nvml) {
        testing::internal::CaptureStderr();
        nvmlMemory_t first = {};
        for (int again = 0; again < 2; again++) {
            EXPECT_EQ(CALL(nvml, nvmlDeviceGetMemoryInfo)(gpu(nvml, 0), &first),
                      NVML_ERROR_OPERATING_SYSTEM);
        }
        EXPECT_EQ(
            testing::internal::GetCapturedStderr(),
            "tessera-guard: no GPU for this process: " + container_.region().path(kAccountsName) +
                " cannot be read. Restart the pod; if that does not help, see the agent's "
                "log on this node.\n");
    });
    std::filesystem::remove(container_.region().path(kLimitsName));
    with_nvml([](const Library& nvml) {
        testing::internal::CaptureStderr();
        nvmlMemory_t first = {};
        EXPECT_EQ(CALL(nvml, nvmlDeviceGetMemoryInfo)(gpu(nvml, 0), &first),
                  NVML_ERROR_OPERATING_SYSTEM);
        EXPECT_NE(testing::internal::GetCapturedStderr().find("limits is missing"),
                  std::string::npos);
    });
}

TEST_F(GuardNvml, AProgramIsToldEitherWay) {
    const auto process = holder(100 * kMiB);
    const std::string driver = node_.library("").string();
    const std::string place = container_.facade().parent_path().string();
    const std::string gpusmi = " " TESSERA_BINARY_DIR "/bin/gpusmi 2>&1";
    const std::string preloaded = output_of("env -i LD_PRELOAD=" + container_.guard().string() +
                                            " LD_LIBRARY_PATH=" + driver + gpusmi);
    EXPECT_EQ(preloaded, "GPU 0: uuid " + node_.gpus()[0].uuid +
                             ", name A, used 209715200 of 1073741824 bytes\n"
                             "GPU 0: process " +
                             std::to_string(process->pid()) +
                             " uses 209715200 bytes\n"
                             "GPU 1: uuid " +
                             node_.gpus()[1].uuid +
                             ", name B, memory: Insufficient Permissions (4)\n"
                             "GPU 1: processes: Insufficient Permissions (4)\n");
    EXPECT_EQ(output_of("env -i LD_LIBRARY_PATH=" + place + gpusmi), preloaded);
}

}  // namespace
}  // namespace tessera::guard
