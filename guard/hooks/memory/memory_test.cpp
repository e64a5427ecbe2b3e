// Goal: a container can use what it was given and no more, whichever of its processes allocates and
// however they end. It sees what it was given, and the accounts agree with the driver. Method: the
// facade in front of the simulated driver, each process in a fork of its own.
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstddef>
#include <fstream>
#include <functional>
#include <iterator>
#include <string>
#include <thread>

#include "guard/test_support/held_memory.hpp"

namespace tessera::guard {
namespace {

using gpusim::CudaProgram;
using gpusim::in_child;
using gpusim::kGiB;
using gpusim::kMiB;
using gpusim::Library;

using GuardMemory = HeldMemory;

TEST_F(GuardMemory, ExactToAnAllocationUnit) {
    in_tenant([&](CudaProgram& tenant) {
        EXPECT_EQ(tenant.allocate(924 * kMiB), CUDA_SUCCESS);
        EXPECT_EQ(held_bytes(), kGiB);
        EXPECT_EQ(tenant.allocate(kAllocationUnitBytes), CUDA_ERROR_OUT_OF_MEMORY);
        EXPECT_EQ(tenant.allocate(1), CUDA_ERROR_OUT_OF_MEMORY);
        EXPECT_EQ(tenant.free_last(), CUDA_SUCCESS);
        EXPECT_EQ(tenant.allocate(922 * kMiB), CUDA_SUCCESS) << "after a free it works again";
        EXPECT_EQ(tenant.allocate(kAllocationUnitBytes), CUDA_SUCCESS);
        EXPECT_EQ(tenant.allocate(kAllocationUnitBytes), CUDA_ERROR_OUT_OF_MEMORY);
        EXPECT_EQ(node_.used(0), held_bytes()) << "what the driver says";
    });
    EXPECT_EQ(container_.region().accounts().gpus[0].refusals.load(), 3U);
}

TEST_F(GuardMemory, IsToldOfItsShare) {
    in_tenant([&](CudaProgram& tenant) {
        size_t total = 0;
        EXPECT_EQ(CALL(tenant.cuda, cuDeviceTotalMem_v2)(&total, 0), CUDA_SUCCESS);
        EXPECT_EQ(total, kGiB);
        EXPECT_EQ(tenant.total_bytes(), kGiB);
        EXPECT_EQ(tenant.free_bytes(), 924 * kMiB);
        EXPECT_EQ(tenant.allocate(24 * kMiB), CUDA_SUCCESS);
        EXPECT_EQ(tenant.free_bytes(), 900 * kMiB);
    });
}

TEST_F(GuardMemory, ProcessesShareTheLimit) {
    const auto other = holder(500 * kMiB);
    in_tenant([&](CudaProgram& tenant) {
        EXPECT_EQ(tenant.free_bytes(), 324 * kMiB);
        EXPECT_EQ(tenant.allocate(326 * kMiB), CUDA_ERROR_OUT_OF_MEMORY);
        EXPECT_EQ(tenant.allocate(324 * kMiB), CUDA_SUCCESS);
        EXPECT_EQ(node_.used(0), held_bytes());
    });
}

TEST_F(GuardMemory, WhatTheDeadHeldIsThereForTheNext) {
    holder(900 * kMiB)->kill_hard();
    EXPECT_EQ(held_bytes(), 1000 * kMiB) << "no process has allocated since";
    in_tenant([](CudaProgram& tenant) { EXPECT_EQ(tenant.allocate(900 * kMiB), CUDA_SUCCESS); });
    container_.region().reap();
    EXPECT_EQ(held_bytes(), 0U);
}

TEST_F(GuardMemory, WhatTheDeadHeldIsSeenAsFree) {
    holder(900 * kMiB)->kill_hard();
    in_tenant([](CudaProgram& tenant) { EXPECT_EQ(tenant.free_bytes(), 924 * kMiB); });
}

TEST_F(GuardMemory, LimitsAreChangedLive) {
    in_tenant([&](CudaProgram& tenant) {
        EXPECT_EQ(tenant.allocate(924 * kMiB), CUDA_SUCCESS);
        container_.limits().gpus[0].memory = units_of(2 * kGiB);
        EXPECT_EQ(tenant.total_bytes(), 2 * kGiB);
        EXPECT_EQ(tenant.allocate(100 * kMiB), CUDA_SUCCESS);
        container_.limits().gpus[0].memory = units_of(kGiB);
        EXPECT_EQ(tenant.free_bytes(), 0U);
        EXPECT_EQ(tenant.allocate(2 * kMiB), CUDA_ERROR_OUT_OF_MEMORY);
        EXPECT_EQ(tenant.free_last(), CUDA_SUCCESS) << "existing memory is not touched";
        EXPECT_EQ(tenant.free_last(), CUDA_SUCCESS);
        EXPECT_EQ(tenant.allocate(924 * kMiB), CUDA_SUCCESS);
    });
}

TEST_F(GuardMemory, WhatTheDriverRefusesIsNotCounted) {
    GuardedContainer generous(node_, {{0, 64 * kGiB, 100 * kMiB}});
    const auto neighbour = holder(900 * kMiB);
    in_child([&] {
        CudaProgram tenant(generous.facade());
        EXPECT_EQ(tenant.allocate(7 * kGiB), CUDA_ERROR_OUT_OF_MEMORY);
        EXPECT_EQ(held(generous.region().accounts(), 0) * kAllocationUnitBytes, 100 * kMiB);
        EXPECT_EQ(generous.region().accounts().gpus[0].refusals.load(), 0U);
        EXPECT_EQ(tenant.total_bytes(), 8 * kGiB) << "not more than the GPU has";
        CUdeviceptr pointer = 0;
        EXPECT_EQ(CALL(tenant.cuda, cuMemAlloc_v2)(&pointer, 0), CUDA_ERROR_INVALID_VALUE);
        EXPECT_EQ(CALL(tenant.cuda, cuMemAlloc_v2)(nullptr, 1), CUDA_ERROR_INVALID_VALUE);
    });
}

TEST_F(GuardMemory, ContextsCountAndGiveBackAllThatIsInThem) {
    in_tenant([&](CudaProgram& tenant) {
        EXPECT_EQ(held_bytes(), 100 * kMiB);
        EXPECT_EQ(tenant.allocate(100 * kMiB), CUDA_SUCCESS);
        CUcontext second = nullptr;
        EXPECT_EQ(CALL(tenant.cuda, cuCtxCreate_v3)(&second, nullptr, 0, 0, 0), CUDA_SUCCESS);
        EXPECT_EQ(tenant.allocate(100 * kMiB), CUDA_SUCCESS);
        EXPECT_EQ(tenant.allocate(300 * kMiB), CUDA_SUCCESS);
        EXPECT_EQ(held_bytes(), 700 * kMiB);
        EXPECT_EQ(node_.used(0), held_bytes());
        EXPECT_EQ(CALL(tenant.cuda, cuCtxDestroy_v2)(second), CUDA_SUCCESS);
        EXPECT_EQ(held_bytes(), 200 * kMiB);
        EXPECT_EQ(CALL(tenant.cuda, cuCtxDestroy_v2)(tenant.context), CUDA_SUCCESS);
        EXPECT_EQ(held_bytes(), 0U);
        EXPECT_EQ(node_.used(0), 0U);
    });
}

TEST_F(GuardMemory, AContextThatDoesNotFitIsRefused) {
    in_tenant([](CudaProgram& tenant) {
        EXPECT_EQ(tenant.allocate(850 * kMiB), CUDA_SUCCESS);
        CUcontext second = nullptr;
        EXPECT_EQ(CALL(tenant.cuda, cuCtxCreate_v2)(&second, 0, 0), CUDA_ERROR_OUT_OF_MEMORY);
        EXPECT_EQ(CALL(tenant.cuda, cuDevicePrimaryCtxRetain)(&second, 0),
                  CUDA_ERROR_OUT_OF_MEMORY);
    });
}

TEST_F(GuardMemory, ThePrimaryContextCountsOnce) {
    in_tenant([&](CudaProgram& tenant) {
        const Library& cuda = tenant.cuda;
        CUcontext primary = nullptr;
        EXPECT_EQ(CALL(cuda, cuDevicePrimaryCtxRetain)(&primary, 0), CUDA_SUCCESS);
        EXPECT_EQ(CALL(cuda, cuDevicePrimaryCtxRetain)(&primary, 0), CUDA_SUCCESS);
        EXPECT_EQ(held_bytes(), 200 * kMiB);
        EXPECT_EQ(CALL(cuda, cuCtxSetCurrent)(primary), CUDA_SUCCESS);
        EXPECT_EQ(tenant.allocate(50 * kMiB), CUDA_SUCCESS);
        EXPECT_EQ(CALL(cuda, cuDevicePrimaryCtxRelease_v2)(0), CUDA_SUCCESS);
        EXPECT_EQ(held_bytes(), 250 * kMiB);
        EXPECT_EQ(CALL(cuda, cuDevicePrimaryCtxRelease)(0), CUDA_SUCCESS);
        EXPECT_EQ(held_bytes(), 100 * kMiB);
        EXPECT_EQ(CALL(cuda, cuDevicePrimaryCtxRetain)(&primary, 0), CUDA_SUCCESS);
        EXPECT_EQ(tenant.allocate(50 * kMiB), CUDA_SUCCESS);
        EXPECT_EQ(CALL(cuda, cuDevicePrimaryCtxReset_v2)(0), CUDA_SUCCESS);
        EXPECT_EQ(node_.used(0), held_bytes());
        EXPECT_EQ(CALL(cuda, cuDevicePrimaryCtxRetain)(&primary, 0), CUDA_SUCCESS);
        EXPECT_EQ(held_bytes(), 200 * kMiB);
        EXPECT_EQ(CALL(cuda, cuDevicePrimaryCtxReset)(0), CUDA_SUCCESS);
        EXPECT_EQ(node_.used(0), held_bytes());
    });
}

TEST_F(GuardMemory, FreesOfWhatIsNotItsOwnAreTheDriversToAnswer) {
    in_tenant([&](CudaProgram& tenant) {
        EXPECT_EQ(tenant.allocate(10 * kMiB), CUDA_SUCCESS);
        const CUdeviceptr pointer = tenant.pointers.back();
        EXPECT_EQ(CALL(tenant.cuda, cuMemFree_v2)(pointer + 512), CUDA_ERROR_INVALID_VALUE);
        EXPECT_EQ(held_bytes(), 110 * kMiB);
        EXPECT_EQ(tenant.free_last(), CUDA_SUCCESS);
        EXPECT_EQ(CALL(tenant.cuda, cuMemFree_v2)(pointer), CUDA_ERROR_INVALID_VALUE);
        EXPECT_EQ(held_bytes(), 100 * kMiB);
    });
}

TEST_F(GuardMemory, AFreeThatFailsFreesNothing) {
    in_tenant([&](CudaProgram& tenant) {
        EXPECT_EQ(tenant.allocate(10 * kMiB), CUDA_SUCCESS);
        CUcontext popped = nullptr;
        EXPECT_EQ(CALL(tenant.cuda, cuCtxPopCurrent_v2)(&popped), CUDA_SUCCESS);
        EXPECT_EQ(tenant.free_last(), CUDA_ERROR_INVALID_CONTEXT);
        EXPECT_EQ(held_bytes(), 110 * kMiB);
    });
}

TEST_F(GuardMemory, AGpuWithoutAShareIsNotToBeHad) {
    in_tenant([](CudaProgram& tenant) {
        CUcontext context = nullptr;
        size_t bytes = 0;
        EXPECT_EQ(CALL(tenant.cuda, cuCtxCreate_v2)(&context, 0, 1), CUDA_ERROR_OPERATING_SYSTEM);
        EXPECT_EQ(CALL(tenant.cuda, cuDevicePrimaryCtxRetain)(&context, 1),
                  CUDA_ERROR_OPERATING_SYSTEM);
        EXPECT_EQ(CALL(tenant.cuda, cuDeviceTotalMem_v2)(&bytes, 1), CUDA_ERROR_OPERATING_SYSTEM);
        EXPECT_EQ(CALL(tenant.cuda, cuCtxCreate_v2)(&context, 0, 7), CUDA_ERROR_INVALID_DEVICE);
    });
    EXPECT_EQ(node_.used(1), 0U);
}

// And stderr names the GPU, once.
TEST_F(GuardMemory, WhichGpuHasNoShareIsTold) {
    in_tenant([this](CudaProgram& tenant) {
        testing::internal::CaptureStderr();
        CUcontext context = nullptr;
        for (int again = 0; again < 2; again++) {
            EXPECT_EQ(CALL(tenant.cuda, cuCtxCreate_v2)(&context, 0, 1),
                      CUDA_ERROR_OPERATING_SYSTEM);
            EXPECT_EQ(CALL(tenant.cuda, cuDevicePrimaryCtxRetain)(&context, 1),
                      CUDA_ERROR_OPERATING_SYSTEM);
        }
        EXPECT_EQ(testing::internal::GetCapturedStderr(),
                  "tessera-guard: this container has no share of GPU " +
                      std::string(node_.state().file->gpus[1].uuid) +
                      ": its limits name others. If CUDA_VISIBLE_DEVICES or "
                      "NVIDIA_VISIBLE_DEVICES was changed, put it back; else restart the pod, and "
                      "if that does not help, see the agent's log on this node.\n");
    });
}

TEST_F(GuardMemory, WithoutLimitsNothingRuns) {
    std::filesystem::remove(container_.region().path(kLimitsName));
    in_child([&] {
        testing::internal::CaptureStderr();
        const Library cuda(container_.facade());
        EXPECT_EQ(CALL(cuda, cuInit)(0), CUDA_ERROR_OPERATING_SYSTEM);
        CUdeviceptr pointer = 0;
        EXPECT_EQ(CALL(cuda, cuMemAlloc_v2)(&pointer, 1), CUDA_ERROR_OPERATING_SYSTEM);
        EXPECT_EQ(
            testing::internal::GetCapturedStderr(),
            "tessera-guard: no GPU for this process: " + container_.region().path(kLimitsName) +
                " is missing. Restart the pod; if that does not help, see the agent's log on this "
                "node.\n");
    });
}

// Each file that differs from what the agent made, and the message that the program gets.
TEST_F(GuardMemory, WhyAFileCannotBeUsedIsTold) {
    namespace fs = std::filesystem;
    struct Case {
        const char* file;
        const char* told;
        std::function<void(const fs::path&)> change;
    };
    const auto mode = [](unsigned bits) {
        return
            [bits](const fs::path& path) { fs::permissions(path, static_cast<fs::perms>(bits)); };
    };
    constexpr char kMode[] = " may not be opened by this user: its mode was changed. Restart the";
    const Case cases[] = {
        {kLimitsName, kMode, mode(0600)},
        {kLimitsName, " is of another version of the guard, or was overwritten. Restart the",
         [](const fs::path& path) { fs::resize_file(path, 100); }},
        {kAccountsName, kMode, mode(0600)},
        {kAccountsName, kMode, mode(0444)},
        {kAccountsName, " is missing. Restart the", [](const fs::path& path) { fs::remove(path); }},
    };
    for (const Case& each : cases) {
        const GuardedContainer container(node_, {{0, kGiB, 0}});
        const std::string path = container.region().path(each.file);
        each.change(path);
        in_child([&] {
            testing::internal::CaptureStderr();
            const Library cuda(container.facade());
            constexpr uid_t kNobody = 65534;
            ASSERT_EQ(setresuid(kNobody, kNobody, 0), 0);
            EXPECT_EQ(CALL(cuda, cuInit)(0), CUDA_ERROR_OPERATING_SYSTEM);
            ASSERT_EQ(setresuid(0, 0, 0), 0);
            const std::string said = testing::internal::GetCapturedStderr();
            EXPECT_NE(said.find(path + each.told), std::string::npos) << said;
        });
    }
}

TEST_F(GuardMemory, WhoseAddressSpaceOrDescriptorsAreLimitedIsTold) {
#ifdef __SANITIZE_THREAD__
    GTEST_SKIP() << "the sanitizer's own memory does not fit either";
#endif
    const auto is_reported = [this](int resource, rlim_t most, const std::string& told) {
        in_child([&] {
            testing::internal::CaptureStderr();
            const Library cuda(container_.facade());
            rlimit before = {};
            ASSERT_EQ(getrlimit(static_cast<__rlimit_resource>(resource), &before), 0);
            const rlimit limit = {most, before.rlim_max};
            ASSERT_EQ(setrlimit(static_cast<__rlimit_resource>(resource), &limit), 0);
            EXPECT_EQ(CALL(cuda, cuInit)(0), CUDA_ERROR_OPERATING_SYSTEM);
            ASSERT_EQ(setrlimit(static_cast<__rlimit_resource>(resource), &before), 0);
            const std::string said = testing::internal::GetCapturedStderr();
            EXPECT_NE(said.find(told), std::string::npos) << said;
        });
    };
    is_reported(RLIMIT_AS, rlim_t{1} << 20,
                "the guard does not fit in this process's address space. Raise ulimit -v.\n");
    is_reported(RLIMIT_NOFILE, 3,
                "cannot be opened: the process has no file descriptor left. Raise ulimit -n.\n");
}

TEST_F(GuardMemory, WithoutAccountsNothingRuns) {
    std::filesystem::resize_file(container_.region().path(kAccountsName), 1000);
    in_child([&] {
        testing::internal::CaptureStderr();
        const Library cuda(container_.facade());
        EXPECT_EQ(CALL(cuda, cuInit)(0), CUDA_ERROR_OPERATING_SYSTEM);
        EXPECT_EQ(
            testing::internal::GetCapturedStderr(),
            "tessera-guard: no GPU for this process: " + container_.region().path(kAccountsName) +
                " was truncated or overwritten. Restart the pod; if that does not help, see "
                "the agent's log on this node.\n");
    });
}

// A program may retry many times.
TEST_F(GuardMemory, CallsWithoutAccountsKeepNothingMapped) {
    std::filesystem::remove(container_.region().path(kAccountsName));
    in_child([&] {
        testing::internal::CaptureStderr();
        const Library cuda(container_.facade());
        CUdeviceptr pointer = 0;
        for (int i = 0; i < 100; i++)
            EXPECT_EQ(CALL(cuda, cuMemAlloc_v2)(&pointer, 1), CUDA_ERROR_OPERATING_SYSTEM);
        std::ifstream maps("/proc/self/maps");
        int of_limits = 0;
        for (std::string line; std::getline(maps, line);)
            of_limits += line.ends_with(container_.region().path(kLimitsName)) ? 1 : 0;
        // The test itself has them mapped once.
        EXPECT_LE(of_limits, 1);
        testing::internal::GetCapturedStderr();
    });
}

// A forked child must not have the guard's state of its parent, and old kernels cannot empty pages
// on fork.
TEST_F(GuardMemory, OnAKernelThatIsTooOldNothingRuns) {
    in_child([&] {
        sock_filter filter[] = {
            BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
            BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, __NR_madvise, 0, 3),
            BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, args[2])),
            BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, MADV_WIPEONFORK, 0, 1),
            BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EINVAL),
            BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
        };
        const sock_fprog program = {std::size(filter), filter};
        ASSERT_EQ(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), 0);
        ASSERT_EQ(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program), 0);
        testing::internal::CaptureStderr();
        const Library cuda(container_.facade());
        EXPECT_EQ(CALL(cuda, cuInit)(0), CUDA_ERROR_OPERATING_SYSTEM);
        EXPECT_EQ(CALL(cuda, cuInit)(0), CUDA_ERROR_OPERATING_SYSTEM);
        EXPECT_EQ(
            testing::internal::GetCapturedStderr(),
            "tessera-guard: no GPU for this process: the kernel cannot empty memory in a "
            "forked child (MADV_WIPEONFORK: Linux 4.14 or later, not gVisor). Run this pod on "
            "another node, or without a GPU share.\n");
    });
}

// The driver's calls are no cancellation points. If ours were, a cancelled thread would end while
// it holds our locks. An alarm ends the test if a thread waits for such a lock.
TEST_F(GuardMemory, AThreadIsNotCancelledInACall) {
    in_tenant([&](CudaProgram& tenant) {
        alarm(20);
        std::atomic<CUresult> refused = CUDA_SUCCESS;
        std::thread thread([&] {
            EXPECT_EQ(CALL(tenant.cuda, cuCtxSetCurrent)(tenant.context), CUDA_SUCCESS);
            pthread_cancel(pthread_self());
            CUdeviceptr pointer = 0;
            refused = CALL(tenant.cuda, cuMemAlloc_v2)(&pointer, 2 * kGiB);
            // The thread must end normally: AddressSanitizer does not survive a cancellation.
            int before = 0;
            pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before);
        });
        thread.join();
        EXPECT_EQ(refused, CUDA_ERROR_OUT_OF_MEMORY);
        EXPECT_EQ(tenant.allocate(kMiB), CUDA_SUCCESS);
    });
}

// As with the driver itself, a child has no CUDA; its parent's holdings are not its own.
TEST_F(GuardMemory, AForkedChildHoldsNothing) {
    in_tenant([&](CudaProgram& tenant) {
        EXPECT_EQ(tenant.allocate(100 * kMiB), CUDA_SUCCESS);
        in_child([&] {
            EXPECT_EQ(tenant.allocate(kMiB), CUDA_ERROR_NOT_INITIALIZED);
            EXPECT_EQ(CALL(tenant.cuda, cuMemFree_v2)(tenant.pointers.front()),
                      CUDA_ERROR_NOT_INITIALIZED);
        });
        EXPECT_EQ(held_bytes(), 200 * kMiB);
        container_.region().reap();
        EXPECT_EQ(held_bytes(), 200 * kMiB);
        EXPECT_EQ(tenant.free_last(), CUDA_SUCCESS);
        EXPECT_EQ(held_bytes(), 100 * kMiB);
    });
}

}  // namespace
}  // namespace tessera::guard
