// What tenants get of the GPU's time, in completed kernels of a known amount of work: what each
// does in a second beside the others, in percent of what one does in a second alone and without the
// guard. A GPU loses time at each switch between processes, with and without the guard. So several
// tenants together do less than one alone, and their shares are judged by what all of them did.
#include <sys/mman.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <string>

#include "gpusim/test_support/worker.hpp"
#include "guard/hardware/arbitrated.hpp"
#include "guard/hardware/figures.hpp"
#include "guard/test_support/percents_of_all.hpp"

namespace tessera::guard {
namespace {

using gpusim::ChildProcess;
using gpusim::kMillisecond;
using gpusim::Wire;
using gpusim::Worker;

// Counts for each tenant, in pages that its process shares with this one.
class Counts {
  public:
    explicit Counts(std::size_t tenants) : bytes_(tenants * sizeof(std::atomic<std::uint64_t>)) {
        pages_ = mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
        if (pages_ == MAP_FAILED) throw std::runtime_error("mmap");
    }
    ~Counts() { munmap(pages_, bytes_); }
    Counts(const Counts&) = delete;
    Counts& operator=(const Counts&) = delete;

    [[nodiscard]] std::atomic<std::uint64_t>& of(std::size_t tenant) const {
        return static_cast<std::atomic<std::uint64_t>*>(pages_)[tenant];
    }

  private:
    std::size_t bytes_;
    void* pages_;
};

enum class Manner { free_running, launch_and_wait };

// Launches kernels of `turns` without end, and counts them when they are done. A free-running
// tenant is kAhead kernels ahead, so that the GPU always has work of it.
void work(const std::filesystem::path& library, std::uint64_t turns, Manner manner,
          std::atomic<std::uint64_t>& done) {
    constexpr int kAhead = 16;
    Worker worker(library);
    EXPECT_EQ(CALL(worker.cuda, cuModuleGetFunction)(&worker.spin, worker.module, "turn"),
              CUDA_SUCCESS);
    const auto record = CALL(worker.cuda, cuEventRecord);
    const auto wait = CALL(worker.cuda, cuEventSynchronize);
    CUevent marks[kAhead] = {};
    for (CUevent& mark : marks)
        mark = worker.make_event(CU_EVENT_DISABLE_TIMING);
    const int ahead = manner == Manner::free_running ? kAhead : 1;
    for (std::uint64_t launched = 0;; launched++) {
        CUevent mark = marks[launched % static_cast<std::uint64_t>(ahead)];
        if (launched >= static_cast<std::uint64_t>(ahead)) {
            if (wait(mark) != CUDA_SUCCESS) return;
            done++;
        }
        if (worker.launch(turns) != CUDA_SUCCESS) return;
        record(mark, nullptr);
        if (manner == Manner::launch_and_wait) wait(mark);
    }
}

// The number of turns with which a kernel takes a millisecond on an idle GPU.
std::uint64_t turns_in_a_millisecond() {
    constexpr std::uint64_t kTurns = 1'000'000;
    ChildProcess child([](Wire& wire) {
        Worker worker(driver_path());
        EXPECT_EQ(CALL(worker.cuda, cuModuleGetFunction)(&worker.spin, worker.module, "turn"),
                  CUDA_SUCCESS);
        worker.launch(kTurns);  // brings the clocks up
        CUevent start = worker.mark();
        worker.launch(kTurns);
        wire.send(worker.ns_between(start, worker.mark()));
    });
    const std::uint64_t ns = child.wire().receive();
    if (child.join() != 0 || ns == 0) throw std::runtime_error("the GPU did no work");
    return kTurns * kMillisecond / ns;
}

class Race {
  public:
    explicit Race(const Figures& figures)
        : window_(figures.is_quick() ? 500 : 1000),
          windows_(figures.is_quick() ? 1 : 10),
          turns_(turns_in_a_millisecond()),
          alone_(run({driver_path()}, Manner::free_running).front().front()) {}

    [[nodiscard]] double alone_per_second() const { return alone_; }

    // What each tenant got in each window, in percent of what one has alone.
    struct Shares {
        std::vector<std::vector<double>> windows;  // [window][tenant]
        std::vector<double> charged;  // what the arbiter counted: parts of what it counted in all
    };
    [[nodiscard]] Shares shares(const std::vector<Percents>& tenants, Manner manner) const {
        const ArbitratedGpu gpu(tenants);
        std::vector<std::filesystem::path> libraries;
        libraries.reserve(tenants.size());
        for (std::size_t i = 0; i < tenants.size(); i++)
            libraries.push_back(gpu.container(i).facade());
        Shares shares = {.windows = of_alone(run(libraries, manner)), .charged = {}};
        for (std::size_t i = 0; i < tenants.size(); i++)
            shares.charged.push_back(static_cast<double>(gpu.charged_ns(i)));
        shares.charged = percents_of_all(shares.charged);
        return shares;
    }
    // The same of that many tenants without the guard.
    [[nodiscard]] std::vector<std::vector<double>> without_guard(std::size_t tenants) const {
        return of_alone(run(std::vector(tenants, driver_path()), Manner::free_running));
    }

  private:
    [[nodiscard]] std::vector<std::vector<double>> of_alone(
        std::vector<std::vector<double>> windows) const {
        for (auto& window : windows) {
            for (double& value : window)
                value *= 100 / alone_;
        }
        return windows;
    }
    static void wait_for_first(const std::atomic<std::uint64_t>& count) {
        for (int tries = 0; count == 0; tries++) {
            if (tries > 2000) throw std::runtime_error("a tenant did not begin");
            std::this_thread::sleep_for(std::chrono::milliseconds(10));
        }
    }

    // Kernels per second, as [window][tenant].
    [[nodiscard]] std::vector<std::vector<double>> run(
        const std::vector<std::filesystem::path>& libraries, Manner manner) const {
        using Clock = std::chrono::steady_clock;
        const Counts counts(libraries.size());
        std::vector<std::unique_ptr<ChildProcess>> children;
        children.reserve(libraries.size());
        for (std::size_t i = 0; i < libraries.size(); i++) {
            children.push_back(std::make_unique<ChildProcess>(
                [&, i](Wire&) { work(libraries[i], turns_, manner, counts.of(i)); }));
        }
        for (std::size_t i = 0; i < libraries.size(); i++)
            wait_for_first(counts.of(i));
        std::this_thread::sleep_for(window_);
        std::vector<std::vector<double>> all(windows_);
        std::vector<std::uint64_t> before;
        before.reserve(libraries.size());
        for (std::size_t i = 0; i < libraries.size(); i++)
            before.push_back(counts.of(i));
        auto start = Clock::now();
        for (auto& window : all) {
            std::this_thread::sleep_for(window_);
            const std::chrono::duration<double> took = Clock::now() - start;
            start = Clock::now();
            window.reserve(libraries.size());
            for (std::size_t i = 0; i < libraries.size(); i++) {
                const std::uint64_t now = counts.of(i);
                window.push_back(static_cast<double>(now - before[i]) / took.count());
                before[i] = now;
            }
        }
        return all;
    }

    std::chrono::milliseconds window_;
    std::size_t windows_;
    std::uint64_t turns_;
    double alone_;
};

std::vector<double> mean_of(const std::vector<std::vector<double>>& windows) {
    std::vector<double> mean(windows.front().size());
    for (const auto& window : windows) {
        for (std::size_t i = 0; i < mean.size(); i++)
            mean[i] += window[i] / static_cast<double>(windows.size());
    }
    return mean;
}

// What each got of what all got together, in percent; as it is if there is only one.
std::vector<double> of_all(const std::vector<double>& got) {
    return got.size() > 1 ? percents_of_all(got) : got;
}

// The largest deviation from the tenants' cores, in points.
double off(const std::vector<Percents>& tenants, const std::vector<double>& got) {
    const std::vector<double> parts = of_all(got);
    double worst = 0;
    for (std::size_t i = 0; i < tenants.size(); i++)
        worst = std::max(worst, std::abs(parts[i] - tenants[i].cores));
    return worst;
}

std::string listed(const std::vector<double>& values) {
    std::string text;
    for (const double value : values)
        text += (text.empty() ? "" : " : ") + Figures::number(std::round(value * 10) / 10, "%");
    return text;
}

void show_got(const Figures& figures, const std::string& name, const Race::Shares& shares) {
    const std::vector<double> got = mean_of(shares.windows);
    figures.shown(name + ", got", listed(got));
    if (got.size() < 2) return;
    figures.shown(name + ", got of what both got", listed(of_all(got)));
    figures.shown(name + ", charged of what both were charged", listed(shares.charged));
}

void check_free_running(Figures& figures, const Race& race, const std::string& name,
                        const std::vector<Percents>& tenants) {
    const Race::Shares shares = race.shares(tenants, Manner::free_running);
    double worst = 0;
    for (const auto& window : shares.windows)
        worst = std::max(worst, off(tenants, window));
    show_got(figures, name, shares);
    figures.at_most(name + ", off over all", 1, off(tenants, mean_of(shares.windows)), "points");
    figures.at_most(name + ", off in the worst second", 2, worst, "points");
}

// A tenant that waits for each kernel cannot use all of its share, so only the ratio is judged.
void check_waiting(Figures& figures, const Race& race, const std::string& name,
                   const std::vector<Percents>& tenants) {
    const Race::Shares shares = race.shares(tenants, Manner::launch_and_wait);
    const std::vector<double> got = mean_of(shares.windows);
    const double wanted = static_cast<double>(tenants[1].cores) / tenants[0].cores;
    show_got(figures, name, shares);
    figures.at_most(name + ", off the ratio", 10, 100 * std::abs(got[1] / got[0] / wanted - 1),
                    "%");
}

}  // namespace

void check_shares(Figures& figures) {
    const Race race(figures);
    figures.shown("kernels of a millisecond, alone without the guard",
                  Figures::number(std::round(race.alone_per_second()), "/s"));
    figures.shown("two free-running without the guard, got",
                  listed(mean_of(race.without_guard(2))));
    check_free_running(figures, race, "30:70 free-running", {{30, 30}, {70, 70}});
    check_free_running(figures, race, "10:90 free-running", {{10, 10}, {90, 90}});
    check_waiting(figures, race, "30:70 launch and wait", {{30, 30}, {70, 70}});
    check_waiting(figures, race, "10:90 launch and wait", {{10, 10}, {90, 90}});
    check_free_running(figures, race, "a compute limit of 25 alone", {{25, 25}});
}

}  // namespace tessera::guard
