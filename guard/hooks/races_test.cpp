// Goal: several processes of a container take and free memory at once, and some are killed
// meanwhile. By the driver's own count the GPU never has more of it than the limit, and everything
// is released at the end. Method: processes that allocate at random from all families, some of
// which die in each round; each has a fixed seed.
#include <fcntl.h>

#include <atomic>
#include <deque>
#include <thread>

#include "gpusim/state/locks.hpp"
#include "guard/test_support/held_memory.hpp"
#include "guard/test_support/holder.hpp"

namespace tessera::guard {
namespace {

using gpusim::ChildProcess;
using gpusim::kGiB;
using gpusim::kMiB;

constexpr unsigned kProcesses = 8;
constexpr int kRounds = 20;
constexpr int kSteps = 400;

class GuardRaces : public HeldMemory {
  protected:
    // A sum over processes. None of them may take memory meanwhile: otherwise memory that one
    // process releases and another takes would count twice.
    [[nodiscard]] std::uint64_t used_at_once() const {
        if (!gpusim::lock_byte(locks_fd_, gpusim::kDecisionLock)) return ~std::uint64_t{0};
        const std::uint64_t used = node_.used(0);
        gpusim::unlock_byte(locks_fd_, gpusim::kDecisionLock);
        return used;
    }
    std::unique_ptr<ChildProcess> start(unsigned seed) {
        auto child = std::make_unique<ChildProcess>([this, seed](gpusim::Wire& wire) {
            Holder holder(container_.facade(), seed);
            EXPECT_TRUE(holder.has_room());
            wire.send();
            while (wire.receive() == 1) {
                for (int i = 0; i < kSteps; i++)
                    holder.step();
                holder.give_all();
                wire.send(1 + holder.taken());
            }
        });
        return child;
    }

  private:
    int locks_fd_ = open((node_.state_directory() / "locks").c_str(), O_RDWR | O_CLOEXEC);
};

TEST_F(GuardRaces, NeverOverTheLimitAndAllComesBack) {
    // One context for each process, as in the tests of other limits.
    constexpr std::uint64_t kLimit = kProcesses * kContext + kGiB;
    container_.limits().gpus[0].memory = units_of(kLimit);
    std::atomic<bool> is_over = false;
    std::atomic<std::uint64_t> most = 0;
    std::thread watch([&] {
        while (!is_over) {
            most = std::max(most.load(), used_at_once());
            EXPECT_LE(held_bytes(), kLimit);
            std::this_thread::sleep_for(std::chrono::microseconds(200));
        }
    });
    unsigned seed = 0;
    std::deque<std::unique_ptr<ChildProcess>> children;
    const auto start_one = [&] {
        children.push_back(start(seed++));
        EXPECT_EQ(children.back()->wire().receive(), 1U);
    };
    while (children.size() < kProcesses)
        start_one();
    for (int round = 0; round < kRounds; round++) {
        for (const auto& child : children)
            child->wire().send(1);
        // Two are killed in the middle of their work.
        for (int killed = 0; killed < 2; killed++) {
            std::this_thread::sleep_for(std::chrono::milliseconds(30));
            children.front()->kill_hard();
            children.pop_front();
        }
        std::uint64_t taken = 0;
        for (const auto& child : children) {
            const std::uint64_t said = child->wire().receive();
            EXPECT_GE(said, 1U);
            taken += said - 1;
        }
        EXPECT_GT(taken, 0U);
        container_.region().reap();
        expect_held(children.size() * kContext);
        while (children.size() < kProcesses)
            start_one();
    }
    for (const auto& child : children) {
        child->wire().send(2);
        EXPECT_EQ(child->join(), 0);
    }
    is_over = true;
    watch.join();
    EXPECT_LE(most.load(), kLimit) << "as the driver says";
    EXPECT_GT(most.load(), kLimit - 200 * kMiB) << "it was full";
    container_.region().reap();
    expect_held(0);
}

}  // namespace
}  // namespace tessera::guard
