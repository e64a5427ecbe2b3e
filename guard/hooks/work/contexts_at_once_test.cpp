// Goal: a context is charged for what the driver took for it, also if other processes of the
// container begin at the same time, and no process waits for another forever. Method: processes
// with NVML that create contexts at once, and the driver's own count.
#include <dlfcn.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "gpusim/test_support/child_process.hpp"
#include "gpusim/test_support/cuda_program.hpp"
#include "guard/region/account.hpp"
#include "guard/test_support/guarded_container.hpp"

namespace tessera::guard {
namespace {

using gpusim::kGiB;
using gpusim::kMiB;
using gpusim::Library;

class GuardContextsAtOnce : public testing::Test {
  protected:
    gpusim::SimulatedNode node_{"gpus:\n  - {model: A, memory: 32GiB, context_overhead: 138MiB}\n"};
    GuardedContainer container_{node_, {{0, 16 * kGiB, 0}}};

    // Eight processes begin at once, each with `bytes` of memory besides the context, and end. None
    // is charged for more than `most_over` too much.
    void round(std::uint64_t bytes, std::uint64_t most_over) const {
        std::vector<std::unique_ptr<gpusim::ChildProcess>> children;
        for (int i = 0; i < 8; i++)
            children.push_back(std::make_unique<gpusim::ChildProcess>([&](gpusim::Wire& wire) {
                const Library nvml(node_.library("libnvidia-ml.so.1"));
                const Library cuda(container_.facade());
                CALL(cuda, cuInit)(0);
                wire.send();
                wire.receive();
                CUcontext context = nullptr;
                CUdeviceptr pointer = 0;
                CALL(cuda, cuCtxCreate_v2)(&context, 0, 0);
                if (bytes != 0) CALL(cuda, cuMemAlloc_v2)(&pointer, bytes);
                wire.send();
                wire.receive();
            }));
        for (const auto& child : children)
            child->wire().receive();
        for (const auto& child : children)
            child->wire().send();
        for (const auto& child : children)
            child->wire().receive();
        const std::uint64_t counted =
            held(container_.region().accounts(), 0) * kAllocationUnitBytes;
        EXPECT_GE(counted, node_.used(0)) << "as the driver says";
        EXPECT_LE(counted, node_.used(0) + 8 * most_over);
        for (const auto& child : children)
            child->kill_hard();
        container_.region().reap();
    }
};

TEST_F(GuardContextsAtOnce, CountForWhatTheyTake) {
    for (int i = 0; i < 30; i++)
        round(0, 0);
}

// Memory that another process has reserved, and takes during a measurement, may count twice.
TEST_F(GuardContextsAtOnce, CountForNoLessBesideMemory) {
    for (int i = 0; i < 15; i++)
        round(10 * kMiB, 32 * kMiB);
}

// One thread is in the loader, and the loaded library creates a context. Meanwhile another thread
// creates the process's first context, for which the guard loads NVML.
std::function<void()> at_load;
void call_at_load() {
    at_load();
}

TEST_F(GuardContextsAtOnce, AreMadeWhileALibraryIsLoaded) {
    gpusim::in_child([this] {
        const Library cuda(container_.facade());
        EXPECT_EQ(CALL(cuda, cuInit)(0), CUDA_SUCCESS);
        // Looked up now, because dlsym waits for the loader.
        const auto retain = CALL(cuda, cuDevicePrimaryCtxRetain);
        const auto create = CALL(cuda, cuCtxCreate_v2);
        std::atomic<bool> is_loading = false;
        at_load = [&] {
            is_loading = true;
            std::this_thread::sleep_for(std::chrono::milliseconds(200));
            CUcontext context = nullptr;
            EXPECT_EQ(retain(&context, 0), CUDA_SUCCESS);
        };
        setenv("TESSERA_TEST_AT_LOAD",
               std::to_string(reinterpret_cast<std::uintptr_t>(&call_at_load)).c_str(), 1);
        std::jthread other([&] {
            while (!is_loading)
                std::this_thread::yield();
            CUcontext context = nullptr;
            EXPECT_EQ(create(&context, 0, 0), CUDA_SUCCESS);
        });
        EXPECT_NE(dlopen(TESSERA_BINARY_DIR "/guard/takers/guard_at_load.so", RTLD_NOW), nullptr)
            << dlerror();
    });
}

// No process has measured the cost of a context yet.
TEST_F(GuardContextsAtOnce, AreMeasuredOneAfterAnother) {
    for (int i = 0; i < 15; i++) {
        container_.region().accounts().context_costs[0][0].and_one.store(0);
        round(0, 0);
    }
}

}  // namespace
}  // namespace tessera::guard
