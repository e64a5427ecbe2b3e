// Goal: libnvidia-ml.so.1 reports GPUs, memory and processes as documented. Method: loaded by path
// and called by symbol name, each case in a process of its own.
#include "api/nvidia/nvml.h"

#include <gtest/gtest.h>
#include <sched.h>
#include <unistd.h>

#include <cstdlib>

#include "api/nvidia/cuda.h"
#include "gpusim/test_support/child_process.hpp"
#include "gpusim/test_support/simulated_node.hpp"

namespace gpusim {
namespace {

constexpr char kReservedGpus[] =
    "gpus:\n"
    "  - {model: Tesla T4, memory: 15360MiB, reserved: 360MiB, minor: 3}\n"
    "  - {model: NVIDIA A10, memory: 24GiB, minor: 1, compute_capability: 8.6}\n";

class Nvml : public testing::Test {
  protected:
    SimulatedNode node_{kReservedGpus};

    template <class Body>
    void with_nvml(Body body) const {
        in_child([&] {
            const Library nvml(node_.library("libnvidia-ml.so.1"));
            ASSERT_EQ(CALL(nvml, nvmlInit_v2)(), NVML_SUCCESS);
            body(nvml);
        });
    }

    static nvmlDevice_t device(const Library& nvml, unsigned index) {
        nvmlDevice_t handle = nullptr;
        EXPECT_EQ(CALL(nvml, nvmlDeviceGetHandleByIndex_v2)(index, &handle), NVML_SUCCESS);
        return handle;
    }

    // A CUDA process that holds `bytes` of GPU 0 until a command.
    void hold(Wire& wire, std::uint64_t bytes) const {
        const Library cuda(node_.library("libcuda.so.1"));
        CUcontext context = nullptr;
        CUdeviceptr pointer = 0;
        EXPECT_EQ(CALL(cuda, cuInit)(0), CUDA_SUCCESS);
        EXPECT_EQ(CALL(cuda, cuCtxCreate_v2)(&context, 0, 0), CUDA_SUCCESS);
        EXPECT_EQ(CALL(cuda, cuMemAlloc_v2)(&pointer, bytes), CUDA_SUCCESS);
        wire.send();
        wire.receive();
    }
};

TEST_F(Nvml, IsCountedUpAndDown) {
    in_child([&] {
        const Library nvml(node_.library("libnvidia-ml.so.1"));
        unsigned count = 0;
        EXPECT_EQ(CALL(nvml, nvmlDeviceGetCount_v2)(&count), NVML_ERROR_UNINITIALIZED);
        EXPECT_EQ(CALL(nvml, nvmlShutdown)(), NVML_ERROR_UNINITIALIZED);
        EXPECT_EQ(CALL(nvml, nvmlInit)(), NVML_SUCCESS);
        EXPECT_EQ(CALL(nvml, nvmlInitWithFlags)(0), NVML_SUCCESS);
        EXPECT_EQ(CALL(nvml, nvmlShutdown)(), NVML_SUCCESS);
        EXPECT_EQ(CALL(nvml, nvmlDeviceGetCount_v2)(&count), NVML_SUCCESS);
        EXPECT_EQ(count, 2U);
        EXPECT_EQ(CALL(nvml, nvmlShutdown)(), NVML_SUCCESS);
        EXPECT_EQ(CALL(nvml, nvmlDeviceGetCount)(&count), NVML_ERROR_UNINITIALIZED);
        EXPECT_STREQ(CALL(nvml, nvmlErrorString)(NVML_ERROR_NOT_SUPPORTED), "Not Supported");
        EXPECT_STREQ(CALL(nvml, nvmlErrorString)(static_cast<nvmlReturn_t>(1000)), "Unknown Error");
    });
}

TEST_F(Nvml, WithoutStateThereIsNoDriver) {
    in_child([&] {
        setenv("GPUSIM_DIR", "/nowhere", 1);
        const Library nvml(node_.library("libnvidia-ml.so.1"));
        EXPECT_EQ(CALL(nvml, nvmlInit_v2)(), NVML_ERROR_DRIVER_NOT_LOADED);
    });
    std::filesystem::resize_file(node_.library("gpusim/gpus"), 100);
    in_child([&] {
        const Library nvml(node_.library("libnvidia-ml.so.1"));
        EXPECT_EQ(CALL(nvml, nvmlInit_v2)(), NVML_ERROR_LIB_RM_VERSION_MISMATCH);
    });
}

// go-nvml and pynvml do this on every tick: a descriptor lost in each round would end the agent.
TEST_F(Nvml, InitInALoopKeepsDescriptors) {
    in_child([&] {
        const Library nvml(node_.library("libnvidia-ml.so.1"));
        EXPECT_EQ(CALL(nvml, nvmlInit_v2)(), NVML_SUCCESS);
        const int before = dup(0);
        close(before);
        for (int i = 0; i < 100; i++) {
            EXPECT_EQ(CALL(nvml, nvmlShutdown)(), NVML_SUCCESS);
            EXPECT_EQ(CALL(nvml, nvmlInit_v2)(), NVML_SUCCESS);
        }
        const int after = dup(0);
        EXPECT_EQ(before, after);
    });
}

TEST_F(Nvml, DescribesGpus) {
    with_nvml([this](const Library& nvml) {
        nvmlDevice_t first = device(nvml, 0);
        nvmlDevice_t second = device(nvml, 1);
        nvmlDevice_t found = nullptr;
        char text[96] = {};
        unsigned number = 9;
        EXPECT_EQ(CALL(nvml, nvmlDeviceGetUUID)(first, text, sizeof text), NVML_SUCCESS);
        EXPECT_EQ(text, node_.gpus()[0].uuid);
        EXPECT_EQ(CALL(nvml, nvmlDeviceGetUUID)(first, text, 40), NVML_ERROR_INSUFFICIENT_SIZE);
        EXPECT_EQ(CALL(nvml, nvmlDeviceGetHandleByUUID)(node_.gpus()[1].uuid.c_str(), &found),
                  NVML_SUCCESS);
        EXPECT_EQ(found, second);
        EXPECT_EQ(CALL(nvml, nvmlDeviceGetHandleByUUID)("GPU-1", &found), NVML_ERROR_NOT_FOUND);
        EXPECT_EQ(CALL(nvml, nvmlDeviceGetHandleByPciBusId_v2)("00000000:11:00.0", &found),
                  NVML_SUCCESS);
        EXPECT_EQ(found, second);
        EXPECT_EQ(CALL(nvml, nvmlDeviceGetHandleByIndex_v2)(2, &found),
                  NVML_ERROR_INVALID_ARGUMENT);
        EXPECT_EQ(CALL(nvml, nvmlDeviceGetName)(second, text, sizeof text), NVML_SUCCESS);
        EXPECT_STREQ(text, "NVIDIA A10");
        EXPECT_EQ(CALL(nvml, nvmlDeviceGetMinorNumber)(first, &number), NVML_SUCCESS);
        EXPECT_EQ(number, 3U);
        EXPECT_EQ(CALL(nvml, nvmlDeviceGetIndex)(first, &number), NVML_SUCCESS);
        EXPECT_EQ(number, 0U);
        EXPECT_EQ(CALL(nvml, nvmlDeviceGetIndex)(nullptr, &number), NVML_ERROR_INVALID_ARGUMENT);
        int major = 0;
        int minor = 0;
        EXPECT_EQ(CALL(nvml, nvmlDeviceGetCudaComputeCapability)(second, &major, &minor),
                  NVML_SUCCESS);
        EXPECT_EQ(major * 10 + minor, 86);
        EXPECT_EQ(CALL(nvml, nvmlDeviceGetNumGpuCores)(second, &number), NVML_SUCCESS);
        EXPECT_EQ(number, 72 * 128U) << "an A10 has 72 multiprocessors";
    });
}

TEST_F(Nvml, PlacesGpus) {
    with_nvml([](const Library& nvml) {
        nvmlDevice_t first = device(nvml, 0);
        nvmlDevice_t second = device(nvml, 1);
        nvmlPciInfo_t pci = {};
        nvmlPciInfo_v2_t old = {};
        nvmlGpuTopologyLevel_t level = NVML_TOPOLOGY_INTERNAL;
        unsigned number = 0;
        unsigned long set = 0;
        EXPECT_EQ(CALL(nvml, nvmlDeviceGetPciInfo_v3)(second, &pci), NVML_SUCCESS);
        EXPECT_STREQ(pci.busId, "00000000:11:00.0");
        EXPECT_STREQ(pci.busIdLegacy, "0000:11:00.0");
        EXPECT_EQ(pci.bus, 0x11U);
        EXPECT_EQ(CALL(nvml, nvmlDeviceGetPciInfo_v2)(second, &old), NVML_SUCCESS);
        EXPECT_STREQ(old.busId, "0000:11:00.0");
        EXPECT_EQ(CALL(nvml, nvmlDeviceGetPciInfo)(second, &old), NVML_SUCCESS);
        EXPECT_EQ(CALL(nvml, nvmlDeviceGetTopologyCommonAncestor)(first, second, &level),
                  NVML_SUCCESS);
        EXPECT_EQ(level, NVML_TOPOLOGY_NODE);
        EXPECT_EQ(CALL(nvml, nvmlDeviceGetNumaNodeId)(first, &number), NVML_ERROR_NOT_SUPPORTED);
        EXPECT_EQ(CALL(nvml, nvmlDeviceGetMemoryAffinity)(first, 1, &set, 0), NVML_SUCCESS);
        EXPECT_EQ(set, 1UL) << "NUMA node 0";
        EXPECT_EQ(CALL(nvml, nvmlDeviceGetMemoryAffinity)(first, 0, &set, 0),
                  NVML_ERROR_INVALID_ARGUMENT);
        EXPECT_EQ(CALL(nvml, nvmlDeviceGetMigMode)(first, &number, &number),
                  NVML_ERROR_NOT_SUPPORTED);
    });
}

// Goal: NVML reports at once what an administrator or a fault has done to a GPU, and `recover`
// undoes it.
TEST_F(Nvml, AGpuThatIsSetOtherwise) {
    in_child([&] {
        const Library nvml(node_.library("libnvidia-ml.so.1"));
        ASSERT_EQ(CALL(nvml, nvmlInit_v2)(), NVML_SUCCESS);
        nvmlDevice_t gpu = nullptr;
        ASSERT_EQ(CALL(nvml, nvmlDeviceGetHandleByIndex_v2)(0, &gpu), NVML_SUCCESS);
        // Everything that can be set, as NVML reports it: MIG, compute mode, rows pending and
        // failed, retired pages, errors, and its answers for the size, minor and name.
        const auto state = [&] {
            unsigned mig = 0;
            unsigned pending = 0;
            unsigned rows[4] = {};
            nvmlComputeMode_t mode{};
            nvmlEnableState_t pages{};
            unsigned long long errors = 0;
            nvmlMemory_t memory{};
            char name[NVML_DEVICE_NAME_V2_BUFFER_SIZE] = {};
            const auto has_mig = CALL(nvml, nvmlDeviceGetMigMode)(gpu, &mig, &pending);
            CALL(nvml, nvmlDeviceGetComputeMode)(gpu, &mode);
            CALL(nvml, nvmlDeviceGetRemappedRows)(gpu, rows, rows + 1, rows + 2, rows + 3);
            CALL(nvml, nvmlDeviceGetRetiredPagesPendingStatus)(gpu, &pages);
            CALL(nvml, nvmlDeviceGetTotalEccErrors)
            (gpu, NVML_MEMORY_ERROR_TYPE_UNCORRECTED, NVML_VOLATILE_ECC, &errors);
            return std::vector<int>{has_mig == NVML_SUCCESS ? static_cast<int>(mig) : -1,
                                    static_cast<int>(mode),
                                    static_cast<int>(rows[2]),
                                    static_cast<int>(rows[3]),
                                    static_cast<int>(pages),
                                    static_cast<int>(errors),
                                    CALL(nvml, nvmlDeviceGetMemoryInfo)(gpu, &memory),
                                    CALL(nvml, nvmlDeviceGetMinorNumber)(gpu, &mig),
                                    CALL(nvml, nvmlDeviceGetName)(gpu, name, sizeof name)};
        };
        constexpr int kHidden = NVML_ERROR_NOT_SUPPORTED;
        const std::vector<int> good = {-1, 0, 0, 0, 0, 0, 0, 0, 0};
        const std::pair<const char*, std::vector<int>> rows[] = {
            {"mig on", {1, 0, 0, 0, 0, 0, 0, 0, 0}},
            {"compute-mode exclusive-process", {-1, 3, 0, 0, 0, 0, 0, 0, 0}},
            {"compute-mode prohibited", {-1, 2, 0, 0, 0, 0, 0, 0, 0}},
            {"rows pending", {-1, 0, 1, 0, 0, 0, 0, 0, 0}},
            {"rows failed", {-1, 0, 0, 1, 0, 0, 0, 0, 0}},
            {"retired-pages pending", {-1, 0, 0, 0, 1, 0, 0, 0, 0}},
            {"memory-errors some", {-1, 0, 0, 0, 0, 1, 0, 0, 0}},
            {"memory hidden", {-1, 0, 0, 0, 0, 0, kHidden, 0, 0}},
            {"memory fails", {-1, 0, 0, 0, 0, 0, NVML_ERROR_UNKNOWN, 0, 0}},
            {"minor hidden", {-1, 0, 0, 0, 0, 0, 0, kHidden, 0}},
            {"name hidden", {-1, 0, 0, 0, 0, 0, 0, 0, kHidden}},
        };
        for (const auto& [setting, expected] : rows) {
            EXPECT_EQ(state(), good);
            ASSERT_EQ(node_.control(std::string("set 0 ") + setting), 0);
            EXPECT_EQ(state(), expected) << setting;
            ASSERT_EQ(node_.control("recover 0"), 0);
        }
    });
    EXPECT_NE(node_.control("set 0 mig maybe"), 0);
}

// Goal: a reloaded driver answers only an NVML that was initialized after the reload.
TEST_F(Nvml, ADriverThatWasLoadedAnew) {
    in_child([&] {
        const Library nvml(node_.library("libnvidia-ml.so.1"));
        unsigned count = 0;
        ASSERT_EQ(CALL(nvml, nvmlInit_v2)(), NVML_SUCCESS);
        ASSERT_EQ(node_.control("driver reload"), 0);
        EXPECT_EQ(CALL(nvml, nvmlDeviceGetCount_v2)(&count), NVML_ERROR_UNKNOWN);
        ASSERT_EQ(CALL(nvml, nvmlShutdown)(), NVML_SUCCESS);
        ASSERT_EQ(CALL(nvml, nvmlInit_v2)(), NVML_SUCCESS);
        EXPECT_EQ(CALL(nvml, nvmlDeviceGetCount_v2)(&count), NVML_SUCCESS);
    });
}

TEST(NvmlLinks, AreThoseOfTheGpus) {
    const SimulatedNode node(
        "gpus:\n"
        "  - {model: A, memory: 1GiB, numa: 0, pcie_switch: 0}\n"
        "  - {model: A, memory: 1GiB, numa: 0, pcie_switch: 0, nvlink: 3}\n"
        "  - {model: A, memory: 1GiB, numa: 0}\n"
        "  - {model: A, memory: 1GiB, numa: 1, nvlink: 3}\n");
    in_child([&] {
        const Library nvml(node.library("libnvidia-ml.so.1"));
        ASSERT_EQ(CALL(nvml, nvmlInit_v2)(), NVML_SUCCESS);
        nvmlDevice_t gpus[4] = {};
        for (unsigned i = 0; i < 4; i++)
            EXPECT_EQ(CALL(nvml, nvmlDeviceGetHandleByIndex_v2)(i, &gpus[i]), NVML_SUCCESS);
        const auto level = [&](int a, int b) {
            nvmlGpuTopologyLevel_t found = NVML_TOPOLOGY_SYSTEM;
            EXPECT_EQ(CALL(nvml, nvmlDeviceGetTopologyCommonAncestor)(gpus[a], gpus[b], &found),
                      NVML_SUCCESS);
            return found;
        };
        EXPECT_EQ(level(0, 0), NVML_TOPOLOGY_INTERNAL);
        EXPECT_EQ(level(0, 1), NVML_TOPOLOGY_SINGLE);
        EXPECT_EQ(level(1, 2), NVML_TOPOLOGY_NODE);
        EXPECT_EQ(level(2, 3), NVML_TOPOLOGY_SYSTEM);
        const auto status = [&](int a, int b, nvmlGpuP2PCapsIndex_t caps) {
            nvmlGpuP2PStatus_t found = NVML_P2P_STATUS_UNKNOWN;
            EXPECT_EQ(CALL(nvml, nvmlDeviceGetP2PStatus)(gpus[a], gpus[b], caps, &found),
                      NVML_SUCCESS);
            return found;
        };
        EXPECT_EQ(status(1, 3, NVML_P2P_CAPS_INDEX_NVLINK), NVML_P2P_STATUS_OK);
        EXPECT_EQ(status(0, 1, NVML_P2P_CAPS_INDEX_NVLINK), NVML_P2P_STATUS_NOT_SUPPORTED);
        EXPECT_EQ(status(0, 1, NVML_P2P_CAPS_INDEX_READ), NVML_P2P_STATUS_OK);
        EXPECT_EQ(
            CALL(nvml, nvmlDeviceGetP2PStatus)(gpus[0], gpus[1], NVML_P2P_CAPS_INDEX_READ, nullptr),
            NVML_ERROR_INVALID_ARGUMENT);
        unsigned long set[2] = {0, 7};
        EXPECT_EQ(CALL(nvml, nvmlDeviceGetMemoryAffinity)(gpus[3], 2, set, 0), NVML_SUCCESS);
        EXPECT_EQ(set[0], 2UL);
        EXPECT_EQ(set[1], 0UL);
    });
}

TEST_F(Nvml, MarkersGiveIndices) {
    node_.hide(3);
    with_nvml([this](const Library& nvml) {
        unsigned count = 0;
        char uuid[96] = {};
        EXPECT_EQ(CALL(nvml, nvmlDeviceGetCount_v2)(&count), NVML_SUCCESS);
        EXPECT_EQ(count, 1U);
        EXPECT_EQ(CALL(nvml, nvmlDeviceGetUUID)(device(nvml, 0), uuid, sizeof uuid), NVML_SUCCESS);
        EXPECT_EQ(uuid, node_.gpus()[1].uuid);
    });
}

TEST_F(Nvml, MemoryCountsTheReserveByVersion) {
    ChildProcess holder([this](Wire& wire) { hold(wire, 3 * kGiB); });
    holder.wire().receive();
    with_nvml([](const Library& nvml) {
        nvmlDevice_t gpu = device(nvml, 0);
        nvmlMemory_t memory = {};
        nvmlMemory_v2_t newer = {};
        EXPECT_EQ(CALL(nvml, nvmlDeviceGetMemoryInfo)(gpu, &memory), NVML_SUCCESS);
        EXPECT_EQ(memory.total, 15360 * kMiB);
        EXPECT_EQ(memory.used, 3 * kGiB + 360 * kMiB);
        EXPECT_EQ(memory.free, memory.total - memory.used);
        newer.version = nvmlMemory_v2;
        EXPECT_EQ(CALL(nvml, nvmlDeviceGetMemoryInfo_v2)(gpu, &newer), NVML_SUCCESS);
        EXPECT_EQ(newer.total, 15360 * kMiB);
        EXPECT_EQ(newer.reserved, 360 * kMiB);
        EXPECT_EQ(newer.used, 3 * kGiB);
        EXPECT_EQ(newer.free, memory.free);
        newer.version = 1;
        EXPECT_EQ(CALL(nvml, nvmlDeviceGetMemoryInfo_v2)(gpu, &newer),
                  NVML_ERROR_ARGUMENT_VERSION_MISMATCH);
    });
}

TEST_F(Nvml, ListsProcessesByProtocol) {
    ChildProcess first([this](Wire& wire) { hold(wire, kGiB); });
    ChildProcess second([this](Wire& wire) { hold(wire, 2 * kGiB); });
    first.wire().receive();
    second.wire().receive();
    with_nvml([&](const Library& nvml) {
        nvmlDevice_t gpu = device(nvml, 0);
        const auto list = CALL(nvml, nvmlDeviceGetComputeRunningProcesses_v3);
        nvmlProcessInfo_t infos[3] = {};
        unsigned count = 0;
        EXPECT_EQ(list(gpu, &count, nullptr), NVML_ERROR_INSUFFICIENT_SIZE);
        EXPECT_EQ(count, 2U);
        count = 1;
        EXPECT_EQ(list(gpu, &count, infos), NVML_ERROR_INSUFFICIENT_SIZE);
        EXPECT_EQ(count, 2U);
        EXPECT_EQ(list(gpu, &count, nullptr), NVML_ERROR_INVALID_ARGUMENT);
        EXPECT_EQ(list(gpu, nullptr, infos), NVML_ERROR_INVALID_ARGUMENT);
        count = 3;
        ASSERT_EQ(list(gpu, &count, infos), NVML_SUCCESS);
        ASSERT_EQ(count, 2U);
        const bool in_order = infos[0].pid == static_cast<unsigned>(first.pid());
        EXPECT_EQ(infos[in_order ? 0 : 1].usedGpuMemory, kGiB);
        EXPECT_EQ(infos[in_order ? 1 : 0].pid, static_cast<unsigned>(second.pid()));
        EXPECT_EQ(infos[in_order ? 1 : 0].usedGpuMemory, 2 * kGiB);
        EXPECT_EQ(infos[0].gpuInstanceId, 0xFFFFFFFFU);
        nvmlProcessInfo_v1_t old[2] = {};
        count = 2;
        EXPECT_EQ(CALL(nvml, nvmlDeviceGetComputeRunningProcesses)(gpu, &count, old), NVML_SUCCESS);
        EXPECT_EQ(old[0].usedGpuMemory + old[1].usedGpuMemory, 3 * kGiB);
        count = 0;
        EXPECT_EQ(list(device(nvml, 1), &count, nullptr), NVML_SUCCESS);
        EXPECT_EQ(count, 0U);
    });
}

// Like a driver that lists processes without the memory that each uses.
TEST_F(Nvml, ListsProcessesWithoutWhatTheyUse) {
    ChildProcess holder([this](Wire& wire) { hold(wire, kGiB); });
    holder.wire().receive();
    const auto expect_used = [&](unsigned long long used) {
        with_nvml([&](const Library& nvml) {
            const auto list = CALL(nvml, nvmlDeviceGetComputeRunningProcesses_v3);
            nvmlProcessInfo_t info = {};
            unsigned count = 1;
            ASSERT_EQ(list(device(nvml, 0), &count, &info), NVML_SUCCESS);
            ASSERT_EQ(count, 1U);
            EXPECT_EQ(info.pid, static_cast<unsigned>(holder.pid()));
            EXPECT_EQ(info.usedGpuMemory, used);
        });
    };
    ASSERT_EQ(node_.control("set 0 process-memory hidden"), 0);
    expect_used(~0ULL);
    ASSERT_EQ(node_.control("set 0 process-memory known"), 0);
    expect_used(kGiB);
}

TEST_F(Nvml, NobodyDrawsAndThereIsNoMps) {
    ChildProcess first([this](Wire& wire) { hold(wire, kGiB); });
    first.wire().receive();
    with_nvml([](const Library& nvml) {
        const auto expect_none = [&nvml](auto list, auto info) {
            unsigned count = 1;
            EXPECT_EQ(list(device(nvml, 0), &count, &info), NVML_SUCCESS);
            EXPECT_EQ(count, 0U);
            EXPECT_EQ(list(device(nvml, 0), nullptr, &info), NVML_ERROR_INVALID_ARGUMENT);
            EXPECT_EQ(list(nullptr, &count, &info), NVML_ERROR_INVALID_ARGUMENT);
        };
        expect_none(CALL(nvml, nvmlDeviceGetGraphicsRunningProcesses), nvmlProcessInfo_v1_t{});
        expect_none(CALL(nvml, nvmlDeviceGetGraphicsRunningProcesses_v2), nvmlProcessInfo_v2_t{});
        expect_none(CALL(nvml, nvmlDeviceGetGraphicsRunningProcesses_v3), nvmlProcessInfo_t{});
        expect_none(CALL(nvml, nvmlDeviceGetMPSComputeRunningProcesses), nvmlProcessInfo_v1_t{});
        expect_none(CALL(nvml, nvmlDeviceGetMPSComputeRunningProcesses_v2), nvmlProcessInfo_v2_t{});
        expect_none(CALL(nvml, nvmlDeviceGetMPSComputeRunningProcesses_v3), nvmlProcessInfo_t{});
    });
}

// NVML in a CUDA process must list that process, and must not drop its locks by closing
// descriptors.
TEST_F(Nvml, LivesWithCudaInOneProcess) {
    ChildProcess both([this](Wire& wire) {
        const Library cuda(node_.library("libcuda.so.1"));
        const Library nvml(node_.library("libnvidia-ml.so.1"));
        CUcontext context = nullptr;
        CUdeviceptr pointer = 0;
        ASSERT_EQ(CALL(cuda, cuInit)(0), CUDA_SUCCESS);
        ASSERT_EQ(CALL(cuda, cuCtxCreate_v2)(&context, 0, 0), CUDA_SUCCESS);
        ASSERT_EQ(CALL(cuda, cuMemAlloc_v2)(&pointer, kGiB), CUDA_SUCCESS);
        for (int i = 0; i < 3; i++) {
            ASSERT_EQ(CALL(nvml, nvmlInit_v2)(), NVML_SUCCESS);
            nvmlProcessInfo_t info = {};
            unsigned count = 1;
            EXPECT_EQ(
                CALL(nvml, nvmlDeviceGetComputeRunningProcesses_v3)(device(nvml, 0), &count, &info),
                NVML_SUCCESS);
            EXPECT_EQ(count, 1U);
            EXPECT_EQ(info.pid, static_cast<unsigned>(getpid()));
            EXPECT_EQ(info.usedGpuMemory, kGiB);
            ASSERT_EQ(CALL(nvml, nvmlShutdown)(), NVML_SUCCESS);
        }
        wire.send();
        wire.receive();
    });
    both.wire().receive();
    EXPECT_EQ(node_.used(0), kGiB) << "the process is still seen by others";
    both.wire().send();
    EXPECT_EQ(both.join(), 0);
}

TEST_F(Nvml, OtherPidNamespaceSeesBytesButNoPid) {
    ChildProcess holder([this](Wire& wire) { hold(wire, kGiB); });
    holder.wire().receive();
    ChildProcess container([this](Wire& wire) {
        const bool apart = unshare(CLONE_NEWPID) == 0;
        wire.send(apart ? 2 : 1);
        if (!apart) return;
        with_nvml([](const Library& nvml) {
            nvmlMemory_t memory = {};
            unsigned count = 5;
            nvmlProcessInfo_t infos[5] = {};
            EXPECT_EQ(CALL(nvml, nvmlDeviceGetMemoryInfo)(device(nvml, 0), &memory), NVML_SUCCESS);
            EXPECT_EQ(memory.used, kGiB + 360 * kMiB);
            EXPECT_EQ(
                CALL(nvml, nvmlDeviceGetComputeRunningProcesses_v3)(device(nvml, 0), &count, infos),
                NVML_SUCCESS);
            EXPECT_EQ(count, 0U);
        });
    });
    const bool apart = container.wire().receive() == 2;
    EXPECT_EQ(container.join(), 0);
    if (!apart) GTEST_SKIP() << "not allowed to create a pid namespace";
}

TEST_F(Nvml, WorksReadOnly) {
    if (geteuid() != 0)
        GTEST_SKIP() << "needs root, whose rights it drops so that the files are read-only";
    ChildProcess holder([this](Wire& wire) { hold(wire, kGiB); });
    holder.wire().receive();
    for (const char* name : {"gpus", "locks"}) {
        std::filesystem::permissions(node_.state_directory() / name,
                                     static_cast<std::filesystem::perms>(0444));
    }
    in_child([&] {
        const Library nvml(node_.library("libnvidia-ml.so.1"));
        ASSERT_EQ(seteuid(65534), 0);
        ASSERT_EQ(CALL(nvml, nvmlInit_v2)(), NVML_SUCCESS);
        nvmlMemory_t memory = {};
        nvmlEventSet_t set = nullptr;
        nvmlEventData_t event = {};
        EXPECT_EQ(CALL(nvml, nvmlDeviceGetMemoryInfo)(device(nvml, 0), &memory), NVML_SUCCESS);
        EXPECT_EQ(memory.used, kGiB + 360 * kMiB);
        ASSERT_EQ(CALL(nvml, nvmlEventSetCreate)(&set), NVML_SUCCESS);
        EXPECT_EQ(CALL(nvml, nvmlEventSetWait_v2)(set, &event, 1), NVML_ERROR_TIMEOUT);
        EXPECT_EQ(CALL(nvml, nvmlEventSetFree)(set), NVML_SUCCESS);
    });
}

TEST_F(Nvml, NvidiaVisibleDevicesHoldsHereToo) {
    in_child([&] {
        setenv("NVIDIA_VISIBLE_DEVICES", "none", 1);
        const Library nvml(node_.library("libnvidia-ml.so.1"));
        unsigned count = 9;
        ASSERT_EQ(CALL(nvml, nvmlInit_v2)(), NVML_SUCCESS);
        EXPECT_EQ(CALL(nvml, nvmlDeviceGetCount_v2)(&count), NVML_SUCCESS);
        EXPECT_EQ(count, 0U);
    });
}

}  // namespace
}  // namespace gpusim
