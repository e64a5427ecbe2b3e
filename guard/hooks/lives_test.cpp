// Goal: 10,000 processes run, 64 at a time. They take and release memory of every family and pass
// it on to each other, and they end or are killed at any instant. By the driver's own count they
// never use more of the GPU than the limit, and nothing is left of any of them. Method: a life is a
// fork of a process that has loaded the driver and not initialized it; a timer kills it; each life
// has a fixed seed.
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <cstdio>
#include <ctime>
#include <thread>

#include "gpusim/state/locks.hpp"
#include "guard/test_support/held_memory.hpp"
#include "guard/test_support/holder.hpp"

namespace tessera::guard {
namespace {

using gpusim::kGiB;
using gpusim::Wire;

#ifdef __SANITIZE_THREAD__
constexpr int kLives = 2'000;  // each fork is slow
#else
constexpr int kLives = 10'000;
#endif
constexpr int kAtOnce = 64;
constexpr int kBatch = 1'000;  // after each batch everything is checked
constexpr std::uint64_t kLimit = kAtOnce * kContext + kGiB;
// While a charge of a dead process is passed on, it counts twice for a moment.
constexpr std::uint64_t kMostPassedOn = kAtOnce * kPassedBytes;

// The kernel kills this process after `us` microseconds.
void die_after(long us) {
    sigevent event = {};
    event.sigev_notify = SIGEV_SIGNAL;
    event.sigev_signo = SIGKILL;
    timer_t timer = {};
    ASSERT_EQ(timer_create(CLOCK_MONOTONIC, &event, &timer), 0);
    const itimerspec when = {{0, 0}, {0, us * 1000}};
    ASSERT_EQ(timer_settime(timer, 0, &when, nullptr), 0);
}

class GuardLives : public HeldMemory {
  protected:
    void SetUp() override { container_.limits().gpus[0].memory = units_of(kLimit); }

    [[nodiscard]] std::uint64_t used_at_once() const {
        if (!gpusim::lock_byte(locks_fd_, gpusim::kDecisionLock)) return ~std::uint64_t{0};
        const std::uint64_t used = node_.used(0);
        gpusim::unlock_byte(locks_fd_, gpusim::kDecisionLock);
        return used;
    }

    // Two of three are killed on the way. The others end themselves, half of them without releasing
    // anything.
    void live(unsigned seed, const Exchange& exchange) const {
        std::mt19937 random(seed);
        const auto end = random() % 6;
        const bool is_killed = end < 4;
        if (is_killed) die_after(static_cast<long>(random() % 20'000 + 1));
        Holder holder(container_.facade(), seed, exchange);
        const auto steps = random() % 60;
        // A process that will be killed goes on until then, however fast the machine is.
        for (unsigned i = 0; holder.has_room() && (is_killed || i < steps); i++)
            holder.step();
        while (is_killed)
            pause();
        if (end == 4 && holder.has_room()) holder.give_all();
        std::fflush(nullptr);
        _exit(testing::Test::HasFailure() ? 1 : 0);
    }

    // In a process that only forks: runs `count` lives, and returns how many were killed.
    static std::uint64_t run(std::uint64_t count, const std::function<void(unsigned)>& life) {
        std::uint64_t begun = 0;
        std::uint64_t ended = 0;
        std::uint64_t killed = 0;
        while (ended < count) {
            if (begun < count && begun - ended < kAtOnce) {
                const pid_t pid = fork();
                if (pid == 0) life(static_cast<unsigned>(begun));
                begun++;
                continue;
            }
            int status = 0;
            EXPECT_GT(wait(&status), 0);
            ended++;
            if (WIFSIGNALED(status)) {
                EXPECT_EQ(WTERMSIG(status), SIGKILL);
                killed++;
            } else {
                EXPECT_EQ(WEXITSTATUS(status), 0);
            }
        }
        return killed;
    }

  private:
    int locks_fd_ = open((node_.state_directory() / "locks").c_str(), O_RDWR | O_CLOEXEC);
};

TEST_F(GuardLives, TenThousandOfThemLeaveNothingBehind) {
    void* pages =
        mmap(nullptr, sizeof(Board), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    ASSERT_NE(pages, MAP_FAILED);
    gpusim::DescriptorPipe pipe;
    const Exchange exchange{static_cast<Board*>(pages), &pipe};
    gpusim::ChildProcess nursery([this, &exchange](Wire& wire) {
        const gpusim::Library warm(container_.facade());
        unsigned seed = 0;
        while (const std::uint64_t count = wire.receive()) {
            wire.send(1 + run(count, [&](unsigned which) { live(seed + which, exchange); }));
            seed += static_cast<unsigned>(count);
        }
    });
    std::atomic<bool> is_over = false;
    std::atomic<std::uint64_t> most = 0;
    std::thread watch([&] {
        while (!is_over) {
            most = std::max(most.load(), used_at_once());
            EXPECT_LE(held_bytes(), kLimit + kMostPassedOn);
            std::this_thread::sleep_for(std::chrono::milliseconds(2));
        }
    });
    std::uint64_t killed = 0;
    std::uint64_t on_the_way = 0;
    for (int begun = 0; begun < kLives; begun += kBatch) {
        nursery.wire().send(kBatch);
        killed += nursery.wire().receive() - 1;
        for (int fd = pipe.try_receive(); fd >= 0; fd = pipe.try_receive()) {
            on_the_way++;
            close(fd);
        }
        container_.region().reap();
        expect_held(0);
        EXPECT_LE(most.load(), kLimit) << "as the driver says";
    }
    nursery.wire().send(0);
    EXPECT_EQ(nursery.join(), 0);
    is_over = true;
    watch.join();
    EXPECT_GT(most.load(), kLimit / 2) << "the limit was met";
    EXPECT_GT(killed, kLives / 4U) << "on the way";
    EXPECT_GT(on_the_way, 0U) << "descriptors";
    munmap(pages, sizeof(Board));
}

}  // namespace
}  // namespace tessera::guard
