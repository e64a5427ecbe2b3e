// Ways in which programs give a card work without end, and what containers that do so get of it;
// for tests and benchmarks.
#pragma once

#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <string>
#include <system_error>
#include <thread>

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

// Kernels for each of which it waits, and then a rest.
inline Workload bursts(int kernels, std::uint64_t ns, int rest_ms) {
    return [=](gpusim::Worker& worker) {
        for (int i = 0; i < kernels; i++) {
            worker.launch(ns);
            worker.wait();
        }
        std::this_thread::sleep_for(std::chrono::milliseconds(rest_ms));
    };
}

// A program that is busy launching: a kernel every so often, in so many lengths in turn, and nobody
// waits.
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

// Copies that wait; before each a kernel, or none.
inline Workload waited_copies(std::size_t bytes, std::uint64_t kernel_ns = 0) {
    return [=](gpusim::Worker& worker) {
        static std::vector<char> host(bytes);
        static CUdeviceptr memory = 0;
        if (memory == 0) CALL(worker.cuda, cuMemAlloc_v2)(&memory, host.size());
        if (kernel_ns != 0) worker.launch(kernel_ns);
        CALL(worker.cuda, cuMemcpyDtoH_v2)(host.data(), memory, host.size());
    };
}

// A kernel in each of so many streams in turn.
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

// In two streams, the second of which waits for the first by an event, and the host for both so.
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

// In two streams in turn, each of which waits for its data: half of the time, with nothing else to
// do.
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

// Kernels, behind each of which the stream waits for a function of the host; a few ahead.
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

// Threads that each have a stream, or each their own default stream; they wait for each kernel, or
// for none.
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

// Of what it gave the card nobody says that it has ended.
inline Workload stopped(std::uint64_t ns) {
    return [ns](gpusim::Worker& worker) {
        worker.launch(ns);
        raise(SIGSTOP);
    };
}

// The card's time that processes had who have ended: what each says for itself before it does.
class Tally {
  public:
    Tally()
        : ns_(static_cast<std::atomic<std::int64_t>*>(mmap(
              nullptr, sizeof *ns_, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0))) {
        if (ns_ == MAP_FAILED) throw std::runtime_error("mmap");
    }
    ~Tally() { munmap(ns_, sizeof *ns_); }
    Tally(const Tally&) = delete;
    Tally& operator=(const Tally&) = delete;

    [[nodiscard]] std::atomic<std::int64_t>& ns() const { return *ns_; }

  private:
    std::atomic<std::int64_t>* ns_;
};

struct SharingTenant {
    ShareOfTime share;
    Workload work;
    double expected;    // percent of the card
    int processes = 1;  // at once
    // Not 0: each process ends after one kernel of so long, without the work above, and there is
    // another.
    std::uint64_t ending_ns = 0;
};

// In a process of its own, which ends: one kernel.
[[noreturn]] inline void run_one(const GuardedContainer& container, std::uint64_t ns,
                                 const Tally& tally) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    const gpusim::Worker worker(container.facade());
    worker.launch(ns);
    if (worker.wait() == CUDA_SUCCESS) tally.ns() += static_cast<std::int64_t>(ns);
    _exit(0);
}

// Until it is killed: processes of a container, so many at a time, each of one kernel.
inline std::unique_ptr<gpusim::Peer> start_ending(const GuardedContainer& container,
                                                  const SharingTenant& tenant, const Tally& tally) {
    return std::make_unique<gpusim::Peer>([&](gpusim::Wire&) {
        for (;;) {
            for (int i = 0; i < tenant.processes; i++)
                if (fork() == 0) run_one(container, tenant.ending_ns, tally);
            while (wait(nullptr) > 0) {
            }
        }
    });
}

// Until it is killed: processes of a container, so many at any time, each of one kernel.
inline std::unique_ptr<gpusim::Peer> start_rolling(const GuardedContainer& container, int processes,
                                                   std::uint64_t ns, const Tally& tally) {
    return std::make_unique<gpusim::Peer>([&container, &tally, processes, ns](gpusim::Wire&) {
        for (int alive = 0;;) {
            for (; alive < processes; alive++)
                if (fork() == 0) run_one(container, ns, tally);
            if (wait(nullptr) > 0) alive--;
        }
    });
}

struct Measuring {
    std::chrono::milliseconds after{1000};
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
    std::vector<std::vector<std::unique_ptr<gpusim::Peer>>> peers(tenants.size());
    const std::vector<Tally> tallies(tenants.size());
    for (std::size_t i = 0; i < tenants.size(); i++) {
        if (tenants[i].ending_ns != 0) {
            peers[i].push_back(start_ending(card.container(i), tenants[i], tallies[i]));
            continue;
        }
        for (int process = 0; process < tenants[i].processes; process++)
            peers[i].push_back(start_worker(card.container(i), tenants[i].work));
    }
    std::this_thread::sleep_for(measuring.after);
    Measured measured;
    const auto used = [&](std::int64_t now) {
        std::vector<std::int64_t> of;
        of.reserve(peers.size());
        for (std::size_t i = 0; i < peers.size(); i++) {
            std::int64_t sum = tallies[i].ns();
            for (const auto& peer : peers[i])
                sum += card.used_ns(peer->pid(), measuring.engine, now);
            of.push_back(sum);
        }
        return of;
    };
    const auto starved = [&] {
        const std::int64_t for_all = starved_ns(getpid()) + stolen_ns();
        std::vector<std::int64_t> of;
        of.reserve(peers.size());
        for (const auto& of_tenant : peers) {
            std::int64_t sum = for_all;
            for (const auto& peer : of_tenant)
                sum += starved_ns(peer->pid());
            of.push_back(sum);
        }
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
