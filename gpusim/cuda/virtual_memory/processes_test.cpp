// Goal: processes share a GPU as on a real node. Each sees what the others hold, and none gets more
// than there is. A process that dies, however it dies, releases everything. Method: forked
// children.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <memory>

#include "api/nvidia/cuda.h"
#include "gpusim/test_support/child_process.hpp"
#include "gpusim/test_support/cuda_program.hpp"
#include "gpusim/test_support/simulated_node.hpp"

namespace gpusim {
namespace {

class CudaProcesses : public testing::Test {
  protected:
    SimulatedNode node_{kTwoGpus};

    const std::filesystem::path library_ = node_.library("libcuda.so.1");

    std::unique_ptr<ChildProcess> holder(std::uint64_t bytes) const {
        return start_holder(library_, bytes);
    }
};

TEST_F(CudaProcesses, SeeEachOther) {
    const auto neighbour = holder(10 * kGiB);
    in_child([this] {
        CudaProgram tenant(library_);
        EXPECT_EQ(tenant.free_bytes(), 5 * kGiB);
        EXPECT_EQ(tenant.allocate(6 * kGiB), CUDA_ERROR_OUT_OF_MEMORY);
        EXPECT_EQ(tenant.allocate(5 * kGiB), CUDA_SUCCESS);
        EXPECT_EQ(node_.used(0), 15 * kGiB);
        EXPECT_EQ(node_.used(1), 0U);
    });
    EXPECT_EQ(node_.used(0), 10 * kGiB);
    neighbour->wire().send();
    EXPECT_EQ(neighbour->join(), 0);
    EXPECT_EQ(node_.used(0), 0U);
}

TEST_F(CudaProcesses, KillGivesBackAtOnce) {
    const auto victim = holder(15 * kGiB);
    ChildProcess survivor([this](Wire& wire) {
        CudaProgram tenant(library_);
        EXPECT_EQ(tenant.allocate(1), CUDA_ERROR_OUT_OF_MEMORY);
        wire.send();
        wire.receive();
        EXPECT_EQ(tenant.free_bytes(), 15 * kGiB);
        EXPECT_EQ(tenant.allocate(15 * kGiB), CUDA_SUCCESS);
    });
    survivor.wire().receive();
    victim->kill_hard();
    EXPECT_EQ(node_.used(0), 0U);
    survivor.wire().send();
    EXPECT_EQ(survivor.join(), 0);
}

// A process that executes another program has lost its driver with its memory image.
TEST_F(CudaProcesses, ExecGivesBackToo) {
    ChildProcess child([this](Wire& wire) {
        CudaProgram tenant(library_);
        EXPECT_EQ(tenant.allocate(kGiB), CUDA_SUCCESS);
        wire.send();
        wire.receive();
        execl("/bin/sh", "sh", "-c", "kill -STOP $$; sleep 600", nullptr);
    });
    child.wire().receive();
    EXPECT_EQ(node_.used(0), kGiB);
    child.wire().send();
    int status = 0;
    waitpid(child.pid(), &status, WUNTRACED);
    ASSERT_TRUE(WIFSTOPPED(status));
    EXPECT_EQ(node_.used(0), 0U);
}

TEST_F(CudaProcesses, RaceNeverOvercommits) {
    constexpr int kProcesses = 8;
    constexpr std::uint64_t kChunk = 30 * kMiB;
    std::vector<std::unique_ptr<ChildProcess>> children;
    children.reserve(kProcesses);
    for (int i = 0; i < kProcesses; i++) {
        children.push_back(std::make_unique<ChildProcess>([this](Wire& wire) {
            CudaProgram tenant(library_);
            wire.receive();
            std::uint64_t held = 0;
            while (tenant.allocate(kChunk) == CUDA_SUCCESS)
                held += kChunk;
            wire.send(held + 1);
            wire.receive();
        }));
    }
    for (const auto& child : children)
        child->wire().send();
    std::uint64_t sum = 0;
    for (const auto& child : children)
        sum += child->wire().receive() - 1;
    EXPECT_EQ(sum, 15360 * kMiB) << "every chunk went to exactly one of them";
    EXPECT_EQ(node_.used(0), sum);
    for (const auto& child : children)
        child->wire().send();
    for (const auto& child : children)
        EXPECT_EQ(child->join(), 0);
    EXPECT_EQ(node_.used(0), 0U);
}

// Kills happen at any point in the life of a process that allocates without pause. After each one
// the GPU is empty, the lock is free, and the slot can be taken again.
TEST_F(CudaProcesses, KillAtAnyInstantLeavesGoodState) {
    for (int round = 0; round < 40; round++) {
        ChildProcess child([this, round](Wire& wire) {
            CudaProgram tenant(library_);
            wire.send();
            for (int i = 0;; i++) {
                EXPECT_EQ(tenant.allocate(static_cast<std::uint64_t>(i % 7 + 1) * kMiB),
                          CUDA_SUCCESS);
                if (i % 3 == 2) {
                    EXPECT_EQ(CALL(tenant.cuda, cuMemFree_v2)(tenant.pointers.back()),
                              CUDA_SUCCESS);
                }
                if (i == round * 10) wire.send();
                if (tenant.pointers.size() > 1000) break;
            }
        });
        child.wire().receive();
        child.wire().receive();
        child.kill_hard();
        ASSERT_EQ(node_.used(0), 0U) << "round " << round;
    }
    in_child([this] {
        CudaProgram tenant(library_);
        EXPECT_EQ(tenant.allocate(15 * kGiB), CUDA_SUCCESS);
    });
}

TEST_F(CudaProcesses, LostGpuRefuses) {
    const auto index = node_.gpus()[0].uuid;
    ChildProcess child([this](Wire& wire) {
        CudaProgram tenant(library_);
        CUcontext context = nullptr;
        wire.send();
        wire.receive();
        EXPECT_EQ(tenant.allocate(1), CUDA_ERROR_UNKNOWN);
        EXPECT_EQ(CALL(tenant.cuda, cuCtxCreate_v2)(&context, 0, 0), CUDA_ERROR_DEVICE_UNAVAILABLE);
        EXPECT_EQ(CALL(tenant.cuda, cuCtxCreate_v2)(&context, 0, 1), CUDA_SUCCESS);
        wire.send();
        wire.receive();
        EXPECT_EQ(CALL(tenant.cuda, cuCtxCreate_v2)(&context, 0, 0), CUDA_SUCCESS);
    });
    child.wire().receive();
    EXPECT_EQ(node_.control("lose " + index), 0);
    child.wire().send();
    child.wire().receive();
    EXPECT_EQ(node_.control("recover 0"), 0);
    child.wire().send();
    EXPECT_EQ(child.join(), 0);
}

}  // namespace
}  // namespace gpusim
