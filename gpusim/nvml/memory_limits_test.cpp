// Goal: memory limits of cgroups hold and are reported as NVIDIA's documents say. Method: processes
// in real cgroups of this machine allocate from the simulated driver, with the kernel's controller
// (dmem) and without (misc).
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/mount.h>
#include <unistd.h>

#include <cstring>
#include <memory>
#include <ostream>

#include "api/nvidia/nvml.h"
#include "gpusim/test_support/cuda_program.hpp"
#include "gpusim/test_support/simulated_node.hpp"
#include "gpusim/test_support/test_cgroup.hpp"

namespace gpusim {
namespace {

constexpr std::uint64_t kMib = std::uint64_t{1} << 20;
constexpr std::uint64_t kWhole = kMib * 1024 * 96;
constexpr char kUnified[] = "/sys/fs/cgroup";
constexpr char kMemory[] = "/sys/fs/cgroup/memory";
constexpr std::uint64_t kNone = NVML_DEVICE_MEMORY_LIMIT_MAX;
// NVIDIA's table was measured on one with 96 GiB. A context takes 512 MiB here, and the steps below
// are as large.
constexpr char kGpu[] =
    "gpus:\n"
    "  - {model: NVIDIA RTX PRO 6000, memory: 96GiB, context_overhead: 512MiB}\n"
    "  - {model: NVIDIA RTX PRO 6000, memory: 96GiB}\n";

struct LimitsNow {
    std::uint64_t soft = 0;
    std::uint64_t hard = 0;
    std::uint64_t used = 0;
    bool operator==(const LimitsNow&) const = default;
};

std::ostream& operator<<(std::ostream& out, const LimitsNow& now) {
    return out << now.soft / kMib << "/" << now.hard / kMib << "/" << now.used / kMib << " MiB";
}

class MemoryLimitsOfCgroups : public testing::Test {
  protected:
    void SetUp() override {
        const auto can_enter = [this](Wire& wire) { wire.send(leaf_.enter() ? 1 : 2); };
        ChildProcess trial(can_enter);
        const std::uint64_t answer = trial.wire().receive();
        ASSERT_EQ(trial.join(), 0);
        if (answer != 1)
            GTEST_SKIP() << "needs root, and a cgroup hierarchy that can be written to";
        control("memory-limits dmem");
    }

    void control(const std::string& arguments) const { ASSERT_EQ(node_.control(arguments), 0); }

    // NVML in this process, and its handle of a GPU.
    struct OpenDevice {
        std::unique_ptr<Library> library;
        nvmlDevice_t device = nullptr;
    };
    OpenDevice nvml_device(unsigned gpu) const {
        OpenDevice open{std::make_unique<Library>(node_.library("libnvidia-ml.so.1"))};
        EXPECT_EQ(CALL(*open.library, nvmlInit_v2)(), NVML_SUCCESS);
        EXPECT_EQ(CALL(*open.library, nvmlDeviceGetHandleByIndex_v2)(gpu, &open.device),
                  NVML_SUCCESS);
        return open;
    }
    // Of the first GPU, as this process sees it.
    nvmlMemory_v2_t nvml_memory() const {
        const auto [nvml, device] = nvml_device(0);
        nvmlMemory_v2_t memory = {};
        memory.version = nvmlMemory_v2;
        EXPECT_EQ(CALL(*nvml, nvmlDeviceGetMemoryInfo_v2)(device, &memory), NVML_SUCCESS);
        return memory;
    }

    // In a process of its own, as NVML may be initialized only there.
    nvmlReturn_t set(const TestCgroup& cgroup, std::uint64_t soft, std::uint64_t hard) const {
        ChildProcess child([&](Wire& wire) {
            nvmlSetMemoryLimits_v1_t limits = {cgroup.directory().c_str(), soft, hard};
            const auto [nvml, device] = nvml_device(0);
            wire.send(CALL(*nvml, nvmlDeviceSetMemoryLimits_v1)(device, &limits));
        });
        const std::uint64_t result = child.wire().receive();
        EXPECT_EQ(child.join(), 0);
        return static_cast<nvmlReturn_t>(result);
    }

    LimitsNow get(const TestCgroup& cgroup, unsigned gpu = 0) const {
        ChildProcess child([&](Wire& wire) {
            nvmlGetMemoryLimits_v1_t limits = {cgroup.directory().c_str(), 1, 1, 1};
            const auto [nvml, device] = nvml_device(gpu);
            EXPECT_EQ(CALL(*nvml, nvmlDeviceGetMemoryLimits_v1)(device, &limits), NVML_SUCCESS);
            wire.send(limits.softLimit);
            wire.send(limits.hardLimit);
            wire.send(limits.currentUsed);
        });
        LimitsNow now;
        now.soft = child.wire().receive();
        now.hard = child.wire().receive();
        now.used = child.wire().receive();
        EXPECT_EQ(child.join(), 0);
        return now;
    }

    template <class Body>
    void in(const TestCgroup& cgroup, Body body) const {
        in_child([&] {
            ASSERT_TRUE(cgroup.enter());
            body();
        });
    }

    // What a program in the cgroup gets in steps of that size, and the total that it sees.
    struct Seen {
        std::uint64_t got = 0;
        std::uint64_t total = 0;
    };
    Seen all_of(const TestCgroup& cgroup, std::uint64_t step) const {
        ChildProcess child([&](Wire& wire) {
            EXPECT_TRUE(cgroup.enter());
            CudaProgram tenant(node_.library("libcuda.so.1"));
            while (tenant.allocate(step) == CUDA_SUCCESS) {
            }
            wire.send(tenant.pointers.size() * step);
            wire.send(tenant.total_bytes());
        });
        Seen seen;
        seen.got = child.wire().receive();
        seen.total = child.wire().receive();
        EXPECT_EQ(child.join(), 0);
        return seen;
    }

    std::unique_ptr<ChildProcess> start_holder_in(const TestCgroup& cgroup,
                                                  std::uint64_t bytes) const {
        auto child = std::make_unique<ChildProcess>([this, &cgroup, bytes](Wire& wire) {
            EXPECT_TRUE(cgroup.enter());
            CudaProgram tenant(node_.library("libcuda.so.1"));
            EXPECT_EQ(tenant.allocate(bytes), CUDA_SUCCESS);
            wire.send();
            wire.receive();
        });
        EXPECT_EQ(child->wire().receive(), 1U);
        return child;
    }

    SimulatedNode node_{kGpu};
    TestCgroup parent_{TestCgroup::directory_here("gpusim-")};
    TestCgroup leaf_{parent_.directory() / "leaf"};
    TestCgroup sibling_{parent_.directory() / "sibling"};
};

TEST_F(MemoryLimitsOfCgroups, AreNotSupportedByEarlierDrivers) {
    control("memory-limits off");
    EXPECT_EQ(set(leaf_, 0, 1024 * kMib), NVML_ERROR_NOT_SUPPORTED);
    EXPECT_EQ(all_of(leaf_, 1024 * kMib).total, kWhole);
}

// NVIDIA's table: a leaf of 30,000 MiB lets a program have 29,184 and shows it 30,000.
TEST_F(MemoryLimitsOfCgroups, HoldForAProgramAndAreWhatItSees) {
    for (const char* backend : {"memory-limits dmem", "memory-limits misc"}) {
        control(backend);
        ASSERT_EQ(set(leaf_, 0, 30'000 * kMib), NVML_SUCCESS);
        const Seen seen = all_of(leaf_, 512 * kMib);
        EXPECT_EQ(seen.got / kMib, 29'184U) << backend;
        EXPECT_EQ(seen.total / kMib, 30'000U) << backend;
        EXPECT_EQ(all_of(sibling_, 1024 * kMib).total, kWhole) << "it has no limit";
        EXPECT_EQ(get(leaf_), (LimitsNow{0, 30'000 * kMib, 0}));
        EXPECT_EQ(get(leaf_, 1), (LimitsNow{0, kNone, 0})) << "another GPU";
    }
}

TEST_F(MemoryLimitsOfCgroups, HoldForAllProcessesTogether) {
    ASSERT_EQ(set(leaf_, 0, 8192 * kMib), NVML_SUCCESS);
    const auto holder = start_holder_in(leaf_, 3072 * kMib);
    const auto other = start_holder_in(leaf_, 1024 * kMib);
    EXPECT_EQ(get(leaf_).used / kMib, 3072U + 1024 + 2 * 512);
    EXPECT_EQ(all_of(leaf_, 512 * kMib).got / kMib, 8192U - 3072 - 1024 - 3 * 512);
    holder->kill_hard();
    EXPECT_EQ(all_of(leaf_, 512 * kMib).got / kMib, 8192U - 1024 - 2 * 512);
}

TEST_F(MemoryLimitsOfCgroups, SayHowMuchIsLeft) {
    ASSERT_EQ(set(leaf_, 0, 8192 * kMib), NVML_SUCCESS);
    const auto holder = start_holder_in(leaf_, 3072 * kMib);
    in(leaf_, [&] {
        const CudaProgram tenant(node_.library("libcuda.so.1"));
        EXPECT_EQ(tenant.free_bytes() / kMib, 8192U - 3072 - 2 * 512);
        const nvmlMemory_v2_t memory = nvml_memory();
        EXPECT_EQ(memory.total / kMib, 8192U);
        EXPECT_EQ(memory.used / kMib, 3072U + 2 * 512);
        EXPECT_EQ(memory.free / kMib, 8192U - 3072 - 2 * 512);
    });
}

// So the program takes the whole GPU for its own, and sizes its memory by that.
TEST_F(MemoryLimitsOfCgroups, OfAParentHoldButAreNotSeen) {
    ASSERT_EQ(set(parent_, 0, 8192 * kMib), NVML_SUCCESS);
    const auto holder = start_holder_in(sibling_, 4096 * kMib);
    const Seen seen = all_of(leaf_, 512 * kMib);
    EXPECT_EQ(seen.got / kMib, 8192U - 4096 - 2 * 512);
    EXPECT_EQ(seen.total / kMib, 96U * 1024);
}

TEST_F(MemoryLimitsOfCgroups, OfAParentBoundTheLimitsBelowOnlyWithDmem) {
    ASSERT_EQ(set(parent_, 0, 4096 * kMib), NVML_SUCCESS);
    ASSERT_EQ(set(leaf_, 0, 8192 * kMib), NVML_SUCCESS);
    EXPECT_EQ(all_of(leaf_, 512 * kMib).got / kMib, 4096U - 512);
    control("memory-limits misc");
    EXPECT_EQ(all_of(leaf_, 512 * kMib).got / kMib, 8192U - 512);
    const Seen unlimited = all_of(sibling_, 512 * kMib);
    EXPECT_EQ(unlimited.got / kMib, 4096U - 512) << "the nearest limit counts";
    EXPECT_EQ(unlimited.total / kMib, 4096U);
}

TEST_F(MemoryLimitsOfCgroups, LeaveTheirSoftPartToTheirParents) {
    ASSERT_EQ(set(sibling_, 1024 * kMib, kNone), NVML_SUCCESS);
    ASSERT_EQ(set(leaf_, 2048 * kMib, 4096 * kMib), NVML_SUCCESS);
    EXPECT_EQ(get(leaf_), (LimitsNow{2048 * kMib, 4096 * kMib, 0}));
    EXPECT_EQ(get(parent_), (LimitsNow{3072 * kMib, kNone, 0}));
    ASSERT_EQ(set(sibling_, 0, kNone), NVML_SUCCESS);
    EXPECT_EQ(get(parent_), (LimitsNow{2048 * kMib, kNone, 0}));
    leaf_.remove();
    EXPECT_EQ(get(parent_), (LimitsNow{2048 * kMib, kNone, 0})) << "kept";
    ASSERT_EQ(set(parent_, 512 * kMib, 8192 * kMib), NVML_SUCCESS);
    EXPECT_EQ(get(parent_), (LimitsNow{2560 * kMib, 8192 * kMib, 0}));
}

TEST_F(MemoryLimitsOfCgroups, KeepTheirSoftPartForThemselvesWithMisc) {
    control("memory-limits misc");
    ASSERT_EQ(set(leaf_, 2048 * kMib, 4096 * kMib), NVML_SUCCESS);
    EXPECT_EQ(get(leaf_), (LimitsNow{2048 * kMib, 4096 * kMib, 0}));
    EXPECT_EQ(get(parent_), (LimitsNow{0, kNone, 0}));
}

TEST_F(MemoryLimitsOfCgroups, EndWithTheCgroup) {
    for (const char* backend : {"memory-limits dmem", "memory-limits misc"}) {
        control(backend);
        const TestCgroup first(parent_.directory() / "again");
        ASSERT_EQ(set(first, 0, 4096 * kMib), NVML_SUCCESS);
        first.remove();
        const TestCgroup again(first.directory());
        EXPECT_EQ(get(again), (LimitsNow{0, kNone, 0})) << backend;
        const Seen seen = all_of(again, 512 * kMib);
        EXPECT_EQ(seen.total, kWhole) << backend;
        EXPECT_EQ(seen.got, kWhole - 512 * kMib) << backend;
        ASSERT_EQ(set(again, 0, 8192 * kMib), NVML_SUCCESS);
        EXPECT_EQ(all_of(again, 512 * kMib).total, 8192 * kMib) << backend;
    }
}

// NVML alone takes no slot, so its cgroup need not have an entry.
TEST_F(MemoryLimitsOfCgroups, OfAParentAreSeenByNvmlWithMisc) {
    control("memory-limits misc");
    ASSERT_EQ(set(parent_, 0, 4096 * kMib), NVML_SUCCESS);
    in(leaf_, [&] {
        const nvmlMemory_v2_t memory = nvml_memory();
        EXPECT_EQ(memory.total / kMib, 4096U);
    });
}

// As in a container: its own cgroup is mounted as the root, perhaps in a namespace of its own. The
// limit is set before and after its first program has started.
TEST_F(MemoryLimitsOfCgroups, HoldWhereTheCgroupIsMountedAsTheRoot) {
    for (const int namespaces : {CLONE_NEWNS, CLONE_NEWNS | CLONE_NEWCGROUP}) {
        ASSERT_EQ(set(leaf_, 0, kNone), NVML_SUCCESS);
        ChildProcess container([&](Wire& wire) {
            ASSERT_TRUE(leaf_.enter());
            ASSERT_EQ(unshare(namespaces), 0);
            ASSERT_EQ(mount("", "/", nullptr, MS_REC | MS_PRIVATE, nullptr), 0);
            const std::string root =
                parent_.directory().string().starts_with(kMemory) ? kMemory : kUnified;
            ASSERT_EQ(mount(leaf_.directory().c_str(), root.c_str(), nullptr, MS_BIND, nullptr), 0);
            const CudaProgram tenant(node_.library("libcuda.so.1"));
            wire.send(tenant.total_bytes());
            wire.receive();
            wire.send(tenant.total_bytes());
            wire.receive();
        });
        ASSERT_EQ(container.wire().receive(), kWhole);
        ASSERT_EQ(set(leaf_, 0, 8192 * kMib), NVML_SUCCESS);
        ASSERT_EQ(set(parent_, 0, 4096 * kMib), NVML_SUCCESS);
        container.wire().send();
        EXPECT_EQ(container.wire().receive(), 8192 * kMib);
        EXPECT_EQ(get(leaf_).used / kMib, 512U);
        EXPECT_EQ(get(parent_).used / kMib, 512U) << "known since its limit was set";
        container.wire().send();
        EXPECT_EQ(container.join(), 0);
        ASSERT_EQ(set(parent_, 0, kNone), NVML_SUCCESS);
    }
}

// More cgroups than the driver has entries, one after the other.
TEST_F(MemoryLimitsOfCgroups, OfCgroupsThatAreGoneNeedNoRoom) {
    in_child([&] {
        const auto [nvml, device] = nvml_device(0);
        for (int i = 0; i < kMaxCgroups + 8; i++) {
            const TestCgroup cgroup(parent_.directory() / ("number-" + std::to_string(i)));
            nvmlSetMemoryLimits_v1_t limits = {cgroup.directory().c_str(), kMib, kMib};
            ASSERT_EQ(CALL(*nvml, nvmlDeviceSetMemoryLimits_v1)(device, &limits), NVML_SUCCESS)
                << i;
        }
    });
    EXPECT_EQ(get(parent_).soft / kMib, kMaxCgroups + 8U) << "what they left to their parent";
}

TEST_F(MemoryLimitsOfCgroups, CountWhatAProcessLeftToOthers) {
    ASSERT_EQ(set(leaf_, 0, 8192 * kMib), NVML_SUCCESS);
    ChildProcess maker([&](Wire& wire) {
        ASSERT_TRUE(leaf_.enter());
        CudaProgram tenant(node_.library("libcuda.so.1"));
        ASSERT_EQ(tenant.allocate(2048 * kMib), CUDA_SUCCESS);
        CUipcMemHandle handle = {};
        ASSERT_EQ(CALL(tenant.cuda, cuIpcGetMemHandle)(&handle, tenant.pointers[0]), CUDA_SUCCESS);
        for (std::size_t i = 0; i < sizeof handle.reserved; i += 8) {
            std::uint64_t part = 0;
            std::memcpy(&part, handle.reserved + i, sizeof part);
            wire.send(part);
        }
        wire.receive();
    });
    CUipcMemHandle handle = {};
    for (std::size_t i = 0; i < sizeof handle.reserved; i += 8) {
        const std::uint64_t part = maker.wire().receive();
        std::memcpy(handle.reserved + i, &part, sizeof part);
    }
    ChildProcess user([&](Wire& wire) {
        ASSERT_TRUE(sibling_.enter());
        const CudaProgram tenant(node_.library("libcuda.so.1"));
        CUdeviceptr pointer = 0;
        ASSERT_EQ(CALL(tenant.cuda, cuIpcOpenMemHandle_v2)(&pointer, handle,
                                                           CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS),
                  CUDA_SUCCESS);
        wire.send();
        wire.receive();
    });
    ASSERT_EQ(user.wire().receive(), 1U);
    maker.kill_hard();
    EXPECT_EQ(get(leaf_).used / kMib, 2048U);
    user.kill_hard();
    EXPECT_EQ(get(leaf_).used / kMib, 0U);
}

TEST_F(MemoryLimitsOfCgroups, RefuseWhatIsWrong) {
    EXPECT_EQ(set(leaf_, 2048 * kMib, 1024 * kMib), NVML_ERROR_INVALID_ARGUMENT);
    const TestCgroup none(parent_.directory() / "leaf/cgroup.procs");  // a file
    EXPECT_EQ(set(none, 0, kMib), NVML_ERROR_NOT_FOUND);
    const TestCgroup elsewhere(testing::TempDir() + "no-cgroup");
    EXPECT_EQ(set(elsewhere, 0, kMib), NVML_ERROR_NOT_FOUND);
    const TestCgroup of_no_memory("/sys/fs/cgroup/cpu");  // of cgroup v1
    EXPECT_EQ(set(of_no_memory, 0, kMib), NVML_ERROR_NOT_FOUND);
    control("set 0 mig on");
    EXPECT_EQ(set(leaf_, 0, kMib), NVML_ERROR_NOT_SUPPORTED);
    control("set 0 mig off");
    in_child([&] {
        nvmlSetMemoryLimits_v1_t limits = {leaf_.directory().c_str(), 0, kMib};
        nvmlSetMemoryLimits_v1_t nameless = {nullptr, 0, kMib};
        const auto [nvml, device] = nvml_device(0);
        EXPECT_EQ(CALL(*nvml, nvmlDeviceSetMemoryLimits_v1)(device, nullptr),
                  NVML_ERROR_INVALID_ARGUMENT);
        EXPECT_EQ(CALL(*nvml, nvmlDeviceSetMemoryLimits_v1)(device, &nameless),
                  NVML_ERROR_INVALID_ARGUMENT);
        ASSERT_EQ(seteuid(65534), 0);
        EXPECT_EQ(CALL(*nvml, nvmlDeviceSetMemoryLimits_v1)(device, &limits),
                  NVML_ERROR_NO_PERMISSION);
    });
    EXPECT_EQ(get(leaf_), (LimitsNow{0, kNone, 0})) << "nothing was set";
}

}  // namespace
}  // namespace gpusim
