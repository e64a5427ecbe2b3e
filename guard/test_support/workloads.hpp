// Ways in which programs keep giving a GPU work.
#pragma once

#include <chrono>
#include <functional>
#include <thread>
#include <vector>

#include "guard/test_support/shared_gpu.hpp"

namespace tessera::guard {

using Workload = std::function<void(gpusim::Worker&)>;

inline Workload free_running(std::uint64_t ns) {
    return [ns](gpusim::Worker& worker) { worker.launch(ns); };
}

inline Workload launch_and_wait(std::uint64_t ns) {
    return [ns](gpusim::Worker& worker) {
        worker.launch(ns);
        worker.wait();
    };
}

// Kernels, for each of which the program waits, and then a rest.
inline Workload bursts(int kernels, std::uint64_t ns, int rest_ms) {
    return [=](gpusim::Worker& worker) {
        for (int i = 0; i < kernels; i++) {
            worker.launch(ns);
            worker.wait();
        }
        std::this_thread::sleep_for(std::chrono::milliseconds(rest_ms));
    };
}

// A program that is busy launching: one kernel every `every_ns`, with the lengths in rotation, and
// no wait.
inline Workload busy_launching(const std::vector<std::uint64_t>& lengths, std::uint64_t every_ns) {
    return [=](gpusim::Worker& worker) {
        for (const std::uint64_t ns : lengths) {
            worker.launch(ns);
            const std::int64_t next = monotonic_ns() + static_cast<std::int64_t>(every_ns);
            while (monotonic_ns() < next) {
            }
        }
    };
}

// A graph of ten kernels, repeatedly.
inline Workload graphs(std::uint64_t ns) {
    return [ns](gpusim::Worker& worker) {
        static CUgraphExec exec = nullptr;
        if (exec == nullptr) {
            CUgraph made = nullptr;
            CUstream stream = worker.make_stream();
            CALL(worker.cuda, cuStreamBeginCapture_v2)(stream, CU_STREAM_CAPTURE_MODE_GLOBAL);
            for (int i = 0; i < 10; i++)
                worker.launch(ns, stream);
            EXPECT_EQ(CALL(worker.cuda, cuStreamEndCapture)(stream, &made), CUDA_SUCCESS);
            EXPECT_EQ(CALL(worker.cuda, cuGraphInstantiateWithFlags)(&exec, made, 0), CUDA_SUCCESS);
        }
        CALL(worker.cuda, cuGraphLaunch)(exec, nullptr);
    };
}

inline Workload cooperative(std::uint64_t ns) {
    return [ns](gpusim::Worker& worker) {
        std::uint64_t argument = ns;
        void* parameters[] = {&argument};
        CALL(worker.cuda, cuLaunchCooperativeKernel)(worker.spin, gpusim::kWholeGpuBlocks, 1, 1,
                                                     1024, 1, 1, 0, nullptr, parameters);
    };
}

inline Workload launch_ex(std::uint64_t ns) {
    return [ns](gpusim::Worker& worker) {
        std::uint64_t argument = ns;
        void* parameters[] = {&argument};
        const CUlaunchConfig config = {gpusim::kWholeGpuBlocks, 1,       1, 1024, 1, 1, 0,
                                       CU_STREAM_PER_THREAD,    nullptr, 0};
        CALL(worker.cuda, cuLaunchKernelEx)(&config, worker.spin, parameters, nullptr);
    };
}

inline Workload copies(std::size_t bytes) {
    return [bytes](gpusim::Worker& worker) {
        static std::vector<char> host(bytes);
        static CUdeviceptr memory = 0;
        static CUstream stream = worker.make_stream();
        if (memory == 0) CALL(worker.cuda, cuMemAlloc_v2)(&memory, host.size());
        CALL(worker.cuda, cuMemcpyHtoDAsync_v2)(memory, host.data(), host.size(), stream);
        CALL(worker.cuda, cuStreamSynchronize)(stream);
    };
}

// Copies that wait, each after a kernel unless kernel_ns is 0.
inline Workload waited_copies(std::size_t bytes, std::uint64_t kernel_ns = 0) {
    return [=](gpusim::Worker& worker) {
        static std::vector<char> host(bytes);
        static CUdeviceptr memory = 0;
        if (memory == 0) CALL(worker.cuda, cuMemAlloc_v2)(&memory, host.size());
        if (kernel_ns != 0) worker.launch(kernel_ns);
        CALL(worker.cuda, cuMemcpyDtoH_v2)(host.data(), memory, host.size());
    };
}

// A kernel in each of `count` streams.
inline Workload over_streams(std::size_t count, std::uint64_t ns, bool waits = false) {
    return [=](gpusim::Worker& worker) {
        static std::vector<CUstream> streams;
        while (streams.size() < count)
            streams.push_back(worker.make_stream());
        for (CUstream stream : streams)
            worker.launch(ns, stream);
        if (!waits) return;
        for (CUstream stream : streams)
            CALL(worker.cuda, cuStreamSynchronize)(stream);
    };
}

// Uses two streams. The second waits for the first by an event, and the host waits for both by an
// event.
inline Workload across_streams(std::uint64_t ns) {
    return [ns](gpusim::Worker& worker) {
        static CUstream first = worker.make_stream();
        static CUstream second = worker.make_stream();
        static CUevent handed = worker.make_event();
        static CUevent done = worker.make_event();
        worker.launch(ns, first);
        CALL(worker.cuda, cuEventRecord)(handed, first);
        CALL(worker.cuda, cuStreamWaitEvent)(second, handed, 0);
        worker.launch(ns, second);
        CALL(worker.cuda, cuEventRecord)(done, second);
        CALL(worker.cuda, cuEventSynchronize)(done);
    };
}

// Alternates between two streams, each of which waits for its data. For half of the time, they have
// nothing else to do.
inline Workload fed_by_copies(std::uint64_t ns) {
    return [ns](gpusim::Worker& worker) {
        static std::vector<char> host(ns * 10 * 1024 * 1024 / gpusim::kMillisecond);
        static CUdeviceptr memory = 0;
        static CUstream feeding = worker.make_stream();
        static CUstream working[2] = {worker.make_stream(), worker.make_stream()};
        static CUevent fed[2] = {worker.make_event(), worker.make_event()};
        if (memory == 0) CALL(worker.cuda, cuMemAlloc_v2)(&memory, host.size());
        for (int i = 0; i < 2; i++) {
            CALL(worker.cuda, cuMemcpyHtoDAsync_v2)(memory, host.data(), host.size(), feeding);
            CALL(worker.cuda, cuEventRecord)(fed[i], feeding);
            CALL(worker.cuda, cuStreamWaitEvent)(working[i], fed[i], 0);
            worker.launch(ns, working[i]);
        }
        for (CUstream stream : working)
            CALL(worker.cuda, cuStreamSynchronize)(stream);
    };
}

// Kernels, after each of which the stream waits for a host function; a few are queued.
inline Workload among_host_functions(std::uint64_t kernel_ns, std::uint64_t host_ns) {
    return [=](gpusim::Worker& worker) {
        static CUstream stream = worker.make_stream();
        static const std::uint64_t on_host_ns = host_ns;
        for (int i = 0; i < 4; i++) {
            worker.launch(kernel_ns, stream);
            const auto on_host = [](void*) {
                std::this_thread::sleep_for(std::chrono::nanoseconds(on_host_ns));
            };
            CALL(worker.cuda, cuLaunchHostFunc)(stream, on_host, nullptr);
        }
        CALL(worker.cuda, cuStreamSynchronize)(stream);
    };
}

// Threads that each have a stream, or each use their own default stream. They wait for each kernel,
// or for none.
inline Workload in_threads(int count, std::uint64_t ns, bool default_streams, bool wait = false) {
    return [=](gpusim::Worker& worker) {
        std::vector<std::jthread> threads;
        threads.reserve(static_cast<std::size_t>(count));
        for (int i = 0; i < count; i++) {
            threads.emplace_back([&] {
                CALL(worker.cuda, cuCtxSetCurrent)(worker.context);
                CUstream stream = default_streams ? CU_STREAM_PER_THREAD : worker.make_stream();
                for (;;) {
                    worker.launch(ns, stream);
                    if (wait) CALL(worker.cuda, cuStreamSynchronize)(stream);
                }
            });
        }
    };
}

inline Workload idle() {
    return [](gpusim::Worker&) { std::this_thread::sleep_for(std::chrono::seconds(1)); };
}

}  // namespace tessera::guard
