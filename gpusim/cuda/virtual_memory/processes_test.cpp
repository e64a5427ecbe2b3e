// Goal: processes share a GPU as on a real node. Each sees what the others hold, and none gets more
// than there is. A process that dies, however it dies, releases everything. Method: forked peers.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <memory>

#include "api/nvidia/cuda.h"
#include "gpusim/test_support/peer.hpp"
#include "gpusim/test_support/simulated_node.hpp"
#include "gpusim/test_support/tenant.hpp"

namespace gpusim {
namespace {

class CudaProcesses : public testing::Test {
  protected:
    SimulatedNode node_{kTwoGpus};

    const std::filesystem::path library_ = node_.library("libcuda.so.1");

    std::unique_ptr<Peer> holder(std::uint64_t bytes) const {
        return start_holder(library_, bytes);
    }
};

TEST_F(CudaProcesses, SeeEachOther) {
    const auto neighbour = holder(10 * kGiB);
    in_child([this] {
        Tenant tenant(library_);
        EXPECT_EQ(tenant.free_bytes(), 5 * kGiB);
        EXPECT_EQ(tenant.take(6 * kGiB), CUDA_ERROR_OUT_OF_MEMORY);
        EXPECT_EQ(tenant.take(5 * kGiB), CUDA_SUCCESS);
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
    Peer survivor([this](Wire& wire) {
        Tenant tenant(library_);
        EXPECT_EQ(tenant.take(1), CUDA_ERROR_OUT_OF_MEMORY);
        wire.send();
        wire.receive();
        EXPECT_EQ(tenant.free_bytes(), 15 * kGiB);
        EXPECT_EQ(tenant.take(15 * kGiB), CUDA_SUCCESS);
    });
    survivor.wire().receive();
    victim->kill_hard();
    EXPECT_EQ(node_.used(0), 0U);
    survivor.wire().send();
    EXPECT_EQ(survivor.join(), 0);
}

// A process that executes another program has lost its driver with its memory image.
TEST_F(CudaProcesses, ExecGivesBackToo) {
    Peer peer([this](Wire& wire) {
        Tenant tenant(library_);
        EXPECT_EQ(tenant.take(kGiB), CUDA_SUCCESS);
        wire.send();
        wire.receive();
        execl("/bin/sh", "sh", "-c", "kill -STOP $$; sleep 600", nullptr);
    });
    peer.wire().receive();
    EXPECT_EQ(node_.used(0), kGiB);
    peer.wire().send();
    int status = 0;
    waitpid(peer.pid(), &status, WUNTRACED);
    ASSERT_TRUE(WIFSTOPPED(status));
    EXPECT_EQ(node_.used(0), 0U);
}

TEST_F(CudaProcesses, RaceNeverOvercommits) {
    constexpr int kProcesses = 8;
    constexpr std::uint64_t kChunk = 30 * kMiB;
    std::vector<std::unique_ptr<Peer>> peers;
    peers.reserve(kProcesses);
    for (int i = 0; i < kProcesses; i++) {
        peers.push_back(std::make_unique<Peer>([this](Wire& wire) {
            Tenant tenant(library_);
            wire.receive();
            std::uint64_t held = 0;
            while (tenant.take(kChunk) == CUDA_SUCCESS)
                held += kChunk;
            wire.send(held + 1);
            wire.receive();
        }));
    }
    for (const auto& peer : peers)
        peer->wire().send();
    std::uint64_t sum = 0;
    for (const auto& peer : peers)
        sum += peer->wire().receive() - 1;
    EXPECT_EQ(sum, 15360 * kMiB) << "every chunk went to exactly one of them";
    EXPECT_EQ(node_.used(0), sum);
    for (const auto& peer : peers)
        peer->wire().send();
    for (const auto& peer : peers)
        EXPECT_EQ(peer->join(), 0);
    EXPECT_EQ(node_.used(0), 0U);
}

// Kills happen at any point in the life of a process that allocates without pause. After each one
// the GPU is empty, the lock is free, and the slot can be taken again.
TEST_F(CudaProcesses, KillAtAnyInstantLeavesGoodState) {
    for (int round = 0; round < 40; round++) {
        Peer peer([this, round](Wire& wire) {
            Tenant tenant(library_);
            wire.send();
            for (int i = 0;; i++) {
                EXPECT_EQ(tenant.take(static_cast<std::uint64_t>(i % 7 + 1) * kMiB), CUDA_SUCCESS);
                if (i % 3 == 2) {
                    EXPECT_EQ(CALL(tenant.cuda, cuMemFree_v2)(tenant.pointers.back()),
                              CUDA_SUCCESS);
                }
                if (i == round * 10) wire.send();
                if (tenant.pointers.size() > 1000) break;
            }
        });
        peer.wire().receive();
        peer.wire().receive();
        peer.kill_hard();
        ASSERT_EQ(node_.used(0), 0U) << "round " << round;
    }
    in_child([this] {
        Tenant tenant(library_);
        EXPECT_EQ(tenant.take(15 * kGiB), CUDA_SUCCESS);
    });
}

TEST_F(CudaProcesses, LostGpuRefuses) {
    const auto index = node_.gpus()[0].uuid;
    Peer peer([this](Wire& wire) {
        Tenant tenant(library_);
        CUcontext context = nullptr;
        wire.send();
        wire.receive();
        EXPECT_EQ(tenant.take(1), CUDA_ERROR_UNKNOWN);
        EXPECT_EQ(CALL(tenant.cuda, cuCtxCreate_v2)(&context, 0, 0), CUDA_ERROR_DEVICE_UNAVAILABLE);
        EXPECT_EQ(CALL(tenant.cuda, cuCtxCreate_v2)(&context, 0, 1), CUDA_SUCCESS);
        wire.send();
        wire.receive();
        EXPECT_EQ(CALL(tenant.cuda, cuCtxCreate_v2)(&context, 0, 0), CUDA_SUCCESS);
    });
    peer.wire().receive();
    EXPECT_EQ(node_.control("lose " + index), 0);
    peer.wire().send();
    peer.wire().receive();
    EXPECT_EQ(node_.control("recover 0"), 0);
    peer.wire().send();
    EXPECT_EQ(peer.join(), 0);
}

}  // namespace
}  // namespace gpusim
