// Goal: a stream whose driver queue is full must not block launches in another stream, because the
// full one may be waiting for just those. Method: a thread gives a stream behind a host function
// more than the driver queues. Meanwhile, launches in another stream must succeed.
#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <functional>
#include <ostream>
#include <thread>

#include "gpusim/test_support/worker.hpp"
#include "guard/test_support/guarded_container.hpp"

namespace tessera::guard {
namespace {

using gpusim::kGiB;
using gpusim::kMicrosecond;
using gpusim::Worker;
using namespace std::chrono_literals;

constexpr int kMoreThanQueued = 1500;
constexpr unsigned kHangsAfterSeconds = 60;

struct Filling {
    const char* what;
    std::function<void(const Worker&, CUstream)> before;
    // `late` is reached only when the stream may go on.
    std::function<CUresult(const Worker&, CUstream, CUevent late)> give;
};

void PrintTo(const Filling& filling, std::ostream* to) {
    *to << filling.what;
}

void nothing(void*) {}

class GuardFullQueue : public testing::TestWithParam<Filling> {
  protected:
    gpusim::SimulatedNode node_{"gpus:\n  - {model: A, memory: 8GiB}\n"};
    GuardedContainer container_{node_, {{0, kGiB, 0, kWhole / 2, kWhole}}};

    void SetUp() override { container_.grant_plenty(); }
};

TEST_P(GuardFullQueue, KeepsNobodyFromLaunchingElsewhere) {
    gpusim::in_child([this] {
        alarm(kHangsAfterSeconds);
        const Worker worker(container_.facade());
        CUstream full = worker.make_stream();
        CUstream other = worker.make_stream();
        GetParam().before(worker, full);
        EXPECT_EQ(worker.launch(kMicrosecond, full), CUDA_SUCCESS);
        std::atomic<bool> is_open = false;
        const auto wait = [](void* gate) { static_cast<std::atomic<bool>*>(gate)->wait(false); };
        CUstream beside = worker.make_stream();
        for (CUstream stream : {full, beside})
            EXPECT_EQ(CALL(worker.cuda, cuLaunchHostFunc)(stream, wait, &is_open), CUDA_SUCCESS);
        CUevent late = worker.mark(beside);
        std::atomic<int> given = 0;
        std::thread filler([&] {
            EXPECT_EQ(CALL(worker.cuda, cuCtxSetCurrent)(worker.context), CUDA_SUCCESS);
            for (int i = 0; i < kMoreThanQueued; i++, given++)
                EXPECT_EQ(GetParam().give(worker, full, late), CUDA_SUCCESS);
        });
        // While the stream waits for the program, it gets more only once per second.
        for (int before = -1; given != before;) {
            before = given;
            std::this_thread::sleep_for(1500ms);
        }
        EXPECT_LT(given, kMoreThanQueued);
        for (int i = 0; i < 5; i++)
            EXPECT_EQ(worker.launch(kMicrosecond, other), CUDA_SUCCESS);
        EXPECT_EQ(CALL(worker.cuda, cuStreamSynchronize)(other), CUDA_SUCCESS);
        is_open = true;
        is_open.notify_all();
        filler.join();
        EXPECT_EQ(worker.wait(), CUDA_SUCCESS);
    });
}

// The kernels are so short that many of them may be ahead.
void launch_many(const Worker& worker, CUstream stream) {
    for (int round = 0; round < 30; round++) {
        for (int i = 0; i < 900; i++)
            EXPECT_EQ(worker.launch(kMicrosecond, stream), CUDA_SUCCESS);
        EXPECT_EQ(worker.wait(), CUDA_SUCCESS);
    }
}

void capture(const Worker& worker, CUstream) {
    CUstream stream = worker.make_stream();
    CUgraph graph = nullptr;
    EXPECT_EQ(CALL(worker.cuda, cuStreamBeginCapture_v2)(stream, CU_STREAM_CAPTURE_MODE_RELAXED),
              CUDA_SUCCESS);
    EXPECT_EQ(worker.launch(kMicrosecond, stream), CUDA_SUCCESS);
    EXPECT_EQ(CALL(worker.cuda, cuStreamEndCapture)(stream, &graph), CUDA_SUCCESS);
}

CUresult wait_for_an_event(const Worker& worker, CUstream stream, CUevent late) {
    return CALL(worker.cuda, cuStreamWaitEvent)(stream, late, 0);
}

INSTANTIATE_TEST_SUITE_P(
    , GuardFullQueue,
    testing::Values(Filling{"Kernels", launch_many,
                            [](const Worker& worker, CUstream stream, CUevent) {
                                return worker.launch(kMicrosecond, stream);
                            }},
                    Filling{"HostFunctions", [](const Worker&, CUstream) {},
                            [](const Worker& worker, CUstream stream, CUevent) {
                                return CALL(worker.cuda, cuLaunchHostFunc)(stream, nothing,
                                                                           nullptr);
                            }},
                    Filling{"WaitsForEvents", [](const Worker&, CUstream) {}, wait_for_an_event},
                    Filling{"WaitsForEventsAfterACapture", capture, wait_for_an_event}),
    [](const auto& of) { return of.param.what; });

}  // namespace
}  // namespace tessera::guard
