// Goal: processes share a GPU's time according to its sharing mode, whatever their machine does
// meanwhile. A process that dies makes room, and NVML reports what was used. Method: processes that
// always have work queued, and the difference of what the state says they used at two times.
#include <gtest/gtest.h>

#include <memory>
#include <thread>

#include "api/nvidia/nvml.h"
#include "gpusim/state/timeline.hpp"
#include "gpusim/test_support/simulated_node.hpp"
#include "gpusim/test_support/worker.hpp"

namespace gpusim {
namespace {

constexpr EngineId kCompute = {0, Engine::compute};

struct Task {
    std::uint64_t kernel_ns;
    unsigned blocks = kWholeGpuBlocks;
};

class CudaSharing : public testing::Test {
  protected:
    explicit CudaSharing(const char* gpus = kTwoGpus) : node_(gpus) {}

    SimulatedNode node_;

    // A process that never runs out of work, until it is killed.
    std::unique_ptr<ChildProcess> busy(Task task) const {
        auto child = std::make_unique<ChildProcess>([this, task](Wire& wire) {
            const Worker worker(node_.library("libcuda.so.1"));
            CUstream stream = worker.make_stream();
            for (bool has_told = false;; has_told = true) {
                for (int i = 0; i < 100; i++)
                    worker.launch(task.kernel_ns, stream, task.blocks);
                if (!has_told) wire.send();
            }
        });
        EXPECT_EQ(child->wire().receive(), 1U);
        return child;
    }
    std::int64_t used(int slot, std::int64_t now) const {
        return used_ps(node_.state(), kCompute, slot, now) / kPsPerNs;
    }
    // Thousandths of the GPU that each slot gets over the next moments.
    std::vector<int> shares(std::size_t slots) const {
        const auto all_used = [&](std::int64_t now) {
            std::vector<std::int64_t> all(slots);
            for (std::size_t slot = 0; slot < slots; slot++)
                all[slot] = used(static_cast<int>(slot), now);
            return all;
        };
        const std::int64_t start = monotonic_ns();
        const auto before = all_used(start);
        std::this_thread::sleep_for(std::chrono::milliseconds(150));
        const std::int64_t end = monotonic_ns();
        const auto after = all_used(end);
        std::vector<int> shares(slots);
        for (std::size_t slot = 0; slot < slots; slot++)
            shares[slot] = static_cast<int>((after[slot] - before[slot]) * 1000 / (end - start));
        return shares;
    }
};

TEST_F(CudaSharing, ByTurnsAllGetTheSame) {
    const auto one = busy({.kernel_ns = kMillisecond});
    EXPECT_EQ(shares(1), std::vector<int>({1000}));
    const auto small = busy({.kernel_ns = 100 * kMicrosecond, .blocks = 1});
    const auto large = busy({.kernel_ns = 30 * kMillisecond});
    for (const int share : shares(3))
        EXPECT_NEAR(share, 333, 1) << "whatever they run";
}

TEST_F(CudaSharing, WhoIsKilledMakesRoom) {
    const auto one = busy({.kernel_ns = kMillisecond});
    const auto other = busy({.kernel_ns = kMillisecond});
    other->kill_hard();
    in_child([this] {
        // A process must notice the death; a process that waits does.
        const Worker worker(node_.library("libcuda.so.1"));
        worker.launch(50 * kMillisecond);
        EXPECT_EQ(worker.wait(), CUDA_SUCCESS);
    });
    EXPECT_EQ(shares(1), std::vector<int>({1000}));
}

TEST_F(CudaSharing, SideBySideTheyFit) {
    EXPECT_EQ(node_.control("sharing 0 side-by-side"), 0);
    const auto one = busy({.kernel_ns = kMillisecond, .blocks = kTenthOfGpuBlocks});
    const auto other = busy({.kernel_ns = kMillisecond, .blocks = 3 * kTenthOfGpuBlocks});
    const auto fitting = shares(2);
    EXPECT_NEAR(fitting[0], 100, 1);
    EXPECT_NEAR(fitting[1], 300, 1);
    const auto large = busy({.kernel_ns = kMillisecond});
    const auto crowded = shares(3);
    EXPECT_NEAR(crowded[0], 71, 2) << "100 of 1400";
    EXPECT_NEAR(crowded[2], 714, 2);
}

TEST_F(CudaSharing, AWaitIsAsLongAsTheNeighboursMakeIt) {
    const auto neighbour = busy({.kernel_ns = kMillisecond});
    in_child([this] {
        const Worker worker(node_.library("libcuda.so.1"));
        worker.launch(10 * kMillisecond);
        CUevent start = worker.mark();
        worker.launch(10 * kMillisecond);
        EXPECT_NEAR(static_cast<double>(worker.ns_between(start, worker.mark())), 20e6, 1e6);
    });
}

class CudaTimeSlices : public CudaSharing {
  protected:
    CudaTimeSlices()
        : CudaSharing("gpus: [{model: A, memory: 1GiB, time_slice: 2ms, switch_time: 270us}]\n") {}
};

TEST_F(CudaTimeSlices, AnEventAndTheBurstAfterItWaitForTheTurn) {
    const auto neighbour = busy({.kernel_ns = 100 * kMicrosecond});
    in_child([this] {
        const Worker worker(node_.library("libcuda.so.1"));
        CUevent last = worker.mark();
        bool was_quick = false;
        for (int tries = 0; tries < 50 && !was_quick; tries++) {
            EXPECT_EQ(worker.wait(), CUDA_SUCCESS);
            const std::int64_t begin = monotonic_ns();
            CUevent start = worker.mark();
            worker.launch(5 * kMillisecond);
            CUevent end = worker.mark();
            // Otherwise the host may be late for the turn.
            was_quick = monotonic_ns() - begin < std::int64_t{500 * kMicrosecond};
            EXPECT_GE(worker.ns_between(last, start), 670 * kMicrosecond);
            const auto ns = static_cast<double>(worker.ns_between(start, end));
            if (was_quick) {
                EXPECT_NEAR(ns, 10.1e6, 5e5)
                    << "with two slices of the neighbour and four switches";
            }
            last = end;
        }
        EXPECT_TRUE(was_quick);
    });
}

TEST_F(CudaTimeSlices, BusyProcessesLoseTheSwitches) {
    const auto one = busy({.kernel_ns = 100 * kMicrosecond});
    EXPECT_EQ(shares(1), std::vector<int>({1000}));
    const auto other = busy({.kernel_ns = 30 * kMillisecond});
    for (const int share : shares(2))
        EXPECT_NEAR(share, 440, 20);
    EXPECT_EQ(node_.control("sharing 0 side-by-side"), 1) << "they have work";
}

TEST_F(CudaSharing, ToldByTheTools) {
    const auto one = busy({.kernel_ns = kMillisecond});
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
    in_child([this] {
        const Library nvml(node_.library("libnvidia-ml.so.1"));
        nvmlDevice_t device = nullptr;
        nvmlUtilization_t utilization = {};
        EXPECT_EQ(CALL(nvml, nvmlInit_v2)(), NVML_SUCCESS);
        EXPECT_EQ(CALL(nvml, nvmlDeviceGetHandleByIndex_v2)(0, &device), NVML_SUCCESS);
        EXPECT_EQ(CALL(nvml, nvmlDeviceGetUtilizationRates)(device, &utilization), NVML_SUCCESS);
        EXPECT_EQ(utilization.gpu, 100U);
        EXPECT_EQ(CALL(nvml, nvmlDeviceGetHandleByIndex_v2)(1, &device), NVML_SUCCESS);
        EXPECT_EQ(CALL(nvml, nvmlDeviceGetUtilizationRates)(device, &utilization), NVML_SUCCESS);
        EXPECT_EQ(utilization.gpu, 0U);
    });
    EXPECT_EQ(node_.control("sharing 0 sideways"), 1);
    EXPECT_EQ(node_.control("fault 0 kernel explode"), 1);
    const std::string shown =
        output_of(TESSERA_BINARY_DIR "/bin/gpusimctl show " + node_.root().string());
    EXPECT_NE(shown.find(", worked "), std::string::npos) << shown;
}

}  // namespace
}  // namespace gpusim
