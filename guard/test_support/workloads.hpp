// Ways in which programs give a card work without end, and what containers that do so get of it;
// for tests and benchmarks.
#pragma once

#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <system_error>

#include "guard/test_support/shared_card.hpp"

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

// A graph of ten kernels, again and again.
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
        CALL(worker.cuda, cuLaunchCooperativeKernel)(worker.spin, gpusim::kWholeCardBlocks, 1, 1,
                                                     1024, 1, 1, 0, nullptr, parameters);
    };
}

inline Workload launch_ex(std::uint64_t ns) {
    return [ns](gpusim::Worker& worker) {
        std::uint64_t argument = ns;
        void* parameters[] = {&argument};
        const CUlaunchConfig config = {gpusim::kWholeCardBlocks, 1,       1, 1024, 1, 1, 0,
                                       CU_STREAM_PER_THREAD,     nullptr, 0};
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

inline Workload idle() {
    return [](gpusim::Worker&) { std::this_thread::sleep_for(std::chrono::seconds(1)); };
}

struct SharingTenant {
    ShareOfTime share;
    Workload work;
    double expected;  // percent of the card
};

struct Measuring {
    std::chrono::milliseconds window{2500};
    int windows = 1;
    gpusim::Engine engine = gpusim::Engine::compute;
};

// How long the threads of a process have been ready to run, and had no core: only so much of the
// card's time can they lose for the machine's sake. Source: /proc/PID/task/TID/schedstat.
inline std::int64_t starved_ns(pid_t pid) {
    std::int64_t sum = 0;
    std::error_code gone;
    const auto tasks = "/proc/" + std::to_string(pid) + "/task";
    for (const auto& task : std::filesystem::directory_iterator(tasks, gone)) {
        std::ifstream file(task.path() / "schedstat");
        std::int64_t ran = 0;
        std::int64_t waited = 0;
        if (file >> ran >> waited) sum += waited;
    }
    return sum;
}

// Of the machine's cores together, that another machine had: in nobody's schedstat.
inline std::int64_t stolen_ns() {
    std::ifstream file("/proc/stat");
    std::string name;
    std::int64_t of[8] = {};
    file >> name;
    for (std::int64_t& each : of)
        file >> each;
    return of[7] * (1'000'000'000 / sysconf(_SC_CLK_TCK));
}

struct Measured {
    std::vector<std::vector<double>> percents;  // of the card: [window][tenant]
    // Of all windows together, that each tenant and the arbiter were kept from running.
    std::vector<double> starved_percents;
    double arbiter_percent = 0;  // of a core
};

// What each tenant got of the card in each window.
inline Measured measure_shares(const std::vector<SharingTenant>& tenants,
                               const Measuring& measuring) {
    std::vector<ShareOfTime> shares;
    shares.reserve(tenants.size());
    for (const SharingTenant& tenant : tenants)
        shares.push_back(tenant.share);
    const SharedCard card(shares);
    std::vector<std::unique_ptr<gpusim::Peer>> peers;
    peers.reserve(tenants.size());
    for (std::size_t i = 0; i < tenants.size(); i++)
        peers.push_back(start_worker(card.container(i), tenants[i].work));
    std::this_thread::sleep_for(std::chrono::seconds(1));
    Measured measured;
    const auto used = [&](std::int64_t now) {
        std::vector<std::int64_t> of;
        of.reserve(peers.size());
        for (const auto& peer : peers)
            of.push_back(card.used_ns(peer->pid(), measuring.engine, now));
        return of;
    };
    const auto starved = [&] {
        const std::int64_t for_all = starved_ns(getpid()) + stolen_ns();
        std::vector<std::int64_t> of;
        of.reserve(peers.size());
        for (const auto& peer : peers)
            of.push_back(for_all + starved_ns(peer->pid()));
        return of;
    };
    const std::vector<std::int64_t> starved_before = starved();
    const std::int64_t began = monotonic_ns();
    const std::int64_t cpu_before = card.arbiter_cpu_ns();
    std::int64_t start = began;
    std::vector<std::int64_t> before = used(start);
    for (int window = 0; window < measuring.windows; window++) {
        std::this_thread::sleep_for(measuring.window);
        const std::int64_t end = monotonic_ns();
        const std::vector<std::int64_t> after = used(end);
        std::vector<double>& percents = measured.percents.emplace_back();
        for (std::size_t i = 0; i < tenants.size(); i++) {
            percents.push_back(100.0 * static_cast<double>(after[i] - before[i]) /
                               static_cast<double>(end - start));
        }
        start = end;
        before = after;
    }
    const std::vector<std::int64_t> starved_after = starved();
    for (std::size_t i = 0; i < tenants.size(); i++) {
        measured.starved_percents.push_back(
            100.0 * static_cast<double>(starved_after[i] - starved_before[i]) /
            static_cast<double>(monotonic_ns() - began));
    }
    measured.arbiter_percent = 100.0 * static_cast<double>(card.arbiter_cpu_ns() - cpu_before) /
                               static_cast<double>(monotonic_ns() - began);
    return measured;
}

}  // namespace tessera::guard
