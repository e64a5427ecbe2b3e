// Goal: what a process held comes back when it dies, however it dies, and not before. Method:
// forked processes that take seats in one region.
#include "guard/region/life.hpp"

#include <gtest/gtest.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <memory>
#include <random>
#include <thread>

#include "gpusim/test_support/peer.hpp"
#include "guard/region/account.hpp"
#include "guard/test_support/test_region.hpp"

namespace tessera::guard {
namespace {

using gpusim::Peer;
using gpusim::Wire;

constexpr CardShare kCard{"GPU-01234567-89ab-cdef-0123-456789abcdef", 64 * kGranuleBytes, 0};
constexpr Granules kLimit = 64;

class LifeTest : public testing::Test {
  protected:
    TestRegion region_{{kCard}};

    // A seat that holds so much of the card.
    Seat sit(Granules granules) const {
        Seat seat;
        EXPECT_EQ(take_seat(region_.path(kAccountsName).c_str(), seat), SeatError::none);
        EXPECT_TRUE(reserve(*seat.accounts, 0, seat.slot, granules, kLimit));
        return seat;
    }
    // A process that sits, does more, says so, and waits to be told.
    template <typename More>
    std::unique_ptr<Peer> holder(Granules granules, More more) const {
        auto peer = std::make_unique<Peer>([this, granules, more](Wire& wire) {
            sit(granules);
            more();
            wire.send();
            wire.receive();
        });
        EXPECT_EQ(peer->wire().receive(), 1U);
        return peer;
    }
};

TEST_F(LifeTest, TheLivingKeepWhatTheyHold) {
    const auto peer = holder(5, [] {});
    EXPECT_EQ(region_.reap(), 0U);
    EXPECT_EQ(held(region_.accounts(), 0), 5U);
    peer->wire().send();
    EXPECT_EQ(peer->join(), 0);
    EXPECT_EQ(region_.reap(), 5U);
    EXPECT_EQ(held(region_.accounts(), 0), 0U);
}

TEST_F(LifeTest, AKilledOneGivesBack) {
    const auto peer = holder(5, [] {});
    peer->kill_hard();
    EXPECT_EQ(region_.reap(), 5U);
}

// Daemons close all they do not know, and `closefrom(3)` is in many a shell.
TEST_F(LifeTest, ClosingEveryDescriptorChangesNothing) {
    const auto peer = holder(5, [] {
        for (int fd = 3; fd < 256; fd++) {
            if (fcntl(fd, F_GETFD) >= 0 &&
                !std::filesystem::is_fifo("/proc/self/fd/" + std::to_string(fd)))
                close(fd);
        }
    });
    EXPECT_EQ(region_.reap(), 0U);
    peer->kill_hard();
    EXPECT_EQ(region_.reap(), 5U);
}

// The driver keeps the memory as long: the child has its descriptors too.
TEST_F(LifeTest, AChildLivesForItsParent) {
    pid_t child = 0;
    Peer peer([this, &child](Wire& wire) {
        sit(5);
        child = fork();
        if (child == 0) {
            prctl(PR_SET_PDEATHSIG, 0);
            pause();
        }
        wire.send(static_cast<std::uint64_t>(child));
        wire.receive();
    });
    child = static_cast<pid_t>(peer.wire().receive());
    peer.kill_hard();
    ASSERT_GT(child, 0) << "no child, and the next line would be about our own group";
    EXPECT_EQ(kill(child, 0), 0) << "it is to be alive";
    EXPECT_EQ(region_.reap(), 0U);
    kill(child, SIGKILL);
    Granules given = 0;
    for (int i = 0; i < 1000 && given == 0; i++) {
        given = region_.reap();
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    EXPECT_EQ(given, 5U);
}

// As a worker that closes all that it does not know, and outlives its parent. Which descriptors the
// driver's memory hangs by is not to be seen from here: one may be on its way in a socket. So what
// the parent held counts until the child ends or executes a program (docs/limits.md).
TEST_F(LifeTest, AChildThatClosesAllDescriptorsStillLivesForItsParent) {
    pid_t child = 0;
    Peer peer([this, &child](Wire& wire) {
        sit(5);
        child = fork();
        if (child == 0) {
            prctl(PR_SET_PDEATHSIG, 0);
            for (int fd = 3; fd < 256; fd++)
                close(fd);
            pause();
        }
        wire.send(static_cast<std::uint64_t>(child));
        wire.receive();
    });
    child = static_cast<pid_t>(peer.wire().receive());
    peer.kill_hard();
    ASSERT_GT(child, 0) << "no child, and the next line would be about our own group";
    EXPECT_EQ(kill(child, 0), 0) << "it is to be alive";
    EXPECT_EQ(region_.reap(), 0U);
    EXPECT_EQ(held(region_.accounts(), 0), 5U);
    kill(child, SIGKILL);
}

// What a worker can do so that it holds nothing of its parent's: subprocess, spawn, forkserver.
TEST_F(LifeTest, AChildThatExecutesAProgramHoldsNothingOfItsParent) {
    pid_t child = 0;
    Peer peer([this, &child](Wire& wire) {
        sit(5);
        child = fork();
        if (child == 0) {
            prctl(PR_SET_PDEATHSIG, 0);
            execl("/bin/sleep", "sleep", "60", nullptr);
        }
        wire.send(static_cast<std::uint64_t>(child));
        wire.receive();
    });
    child = static_cast<pid_t>(peer.wire().receive());
    ASSERT_GT(child, 0) << "no child, and the next line would be about our own group";
    peer.kill_hard();
    Granules given = 0;
    for (int i = 0; i < 1000 && given == 0; i++) {
        given = region_.reap();
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    EXPECT_EQ(given, 5U);
    EXPECT_EQ(kill(child, 0), 0) << "it is to be alive";
    kill(child, SIGKILL);
}

// Enforcement would vanish in silence: everyone would take from the living.
TEST_F(LifeTest, AFileSystemThatDropsTheLock) {
    if (geteuid() != 0) GTEST_SKIP() << "needs root, to mount an overlay";
    const std::string at = region_.directory().string();
    const std::string mounted =
        "set -e; cd " + at + "; mkdir ram merged; mount -t tmpfs none ram; " +
        "mkdir ram/up ram/work ram/low; cp accounts ram/low; " +
        "mount -t overlay -o lowerdir=ram/low,upperdir=ram/up,workdir=ram/work none merged";
    if (unshare(CLONE_NEWNS) != 0 ||
        mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0 ||
        std::system(mounted.c_str()) != 0)
        GTEST_SKIP() << "no overlay here";
    Seat seat;
    EXPECT_EQ(take_seat((at + "/merged/accounts").c_str(), seat), SeatError::not_kept);
    umount2((at + "/merged").c_str(), MNT_DETACH);
    umount2((at + "/ram").c_str(), MNT_DETACH);
}

TEST_F(LifeTest, ExecEndsIt) {
    Peer peer([this](Wire& wire) {
        sit(5);
        wire.send();
        wire.receive();
        execl("/bin/sleep", "sleep", "60", nullptr);
    });
    EXPECT_EQ(peer.wire().receive(), 1U);
    EXPECT_EQ(region_.reap(), 0U);
    peer.wire().send();
    Granules given = 0;
    for (int i = 0; i < 1000 && given == 0; i++) {
        given = region_.reap();
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    EXPECT_EQ(given, 5U);
}

TEST_F(LifeTest, ASlotIsClearedForItsNextOwner) {
    holder(5, [] {})->kill_hard();
    region_.accounts().next_slot = 0;
    gpusim::in_child([this] {
        const Seat seat = sit(1);
        EXPECT_EQ(seat.slot, 0);
        EXPECT_EQ(seat.accounts->slots[0].pid.load(), getpid());
        EXPECT_EQ(held(*seat.accounts, 0), 1U);
    });
}

TEST_F(LifeTest, NotOursNotThereNoRoom) {
    Seat seat;
    EXPECT_EQ(take_seat(region_.path("nowhere").c_str(), seat), SeatError::no_file);
    EXPECT_EQ(take_seat(region_.path(kLimitsName).c_str(), seat), SeatError::foreign_file);
    region_.accounts().magic = 0;
    EXPECT_EQ(take_seat(region_.path(kAccountsName).c_str(), seat), SeatError::foreign_file);
    region_.accounts().magic = kAccountsMagic;
    gpusim::in_child([this] {
        Seat last;
        for (int i = 0; i < kMaxProcesses - 1; i++)  // one is nobody's
            ASSERT_EQ(take_seat(region_.path(kAccountsName).c_str(), last), SeatError::none);
        EXPECT_EQ(take_seat(region_.path(kAccountsName).c_str(), last), SeatError::full);
    });
}

// Goal: 64 processes at a time take, give and are killed at any instant, 10,000 lives in all: never
// over the limit, and all is back. What a process really holds it writes down itself, later than
// it reserves and earlier than it releases, as a driver would see it. Now and then all are stopped,
// for only then is a sum of what they wrote the sum of one moment.
class Races : public LifeTest {
  protected:
    static constexpr int kAtOnce = 64;
    static constexpr int kLives = 10000;
    static constexpr int kLivesBetweenStops = 400;

    struct Truth {
        std::atomic<std::uint32_t> held[kAtOnce];
    };
    Truth* truth_ = static_cast<Truth*>(
        mmap(nullptr, sizeof(Truth), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
    std::vector<pid_t> pids_ = std::vector<pid_t>(kAtOnce);
    unsigned lives_ = 0;

    [[noreturn]] void live(std::size_t at) const {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        std::minstd_rand random(lives_);
        Seat seat;
        if (take_seat(region_.path(kAccountsName).c_str(), seat) != SeatError::none) _exit(1);
        for (;;) {
            const auto wanted = static_cast<Granules>(random() % 8 + 1);
            if (!reserve(*seat.accounts, 0, seat.slot, wanted, kLimit)) {
                sched_yield();
                continue;
            }
            truth_->held[at] += wanted;
            if (random() % 64 == 0) _exit(0);
            std::this_thread::sleep_for(std::chrono::microseconds(random() % 4096));
            truth_->held[at] -= wanted;
            release(*seat.accounts, 0, seat.slot, wanted);
        }
    }
    void begin(std::size_t at) {
        truth_->held[at] = 0;  // the one before is dead, and has not given back yet
        lives_++;
        pids_[at] = fork();
        if (pids_[at] < 0) std::abort();  // to kill() it would be everybody
        if (pids_[at] == 0) live(at);
    }
    void end(std::size_t at) const {
        kill(pids_[at], SIGKILL);
        EXPECT_EQ(waitpid(pids_[at], nullptr, 0), pids_[at]);
    }
    Granules held_at_one_moment() {
        for (const pid_t pid : pids_)
            kill(pid, SIGSTOP);
        Granules sum = 0;
        std::vector<std::size_t> dead;
        for (std::size_t at = 0; at < kAtOnce; at++) {
            int status = 0;
            EXPECT_EQ(waitpid(pids_[at], &status, WUNTRACED), pids_[at]);
            if (WIFSTOPPED(status)) continue;
            EXPECT_EQ(status, 0) << "it found no seat";
            dead.push_back(at);
        }
        for (const auto& held : truth_->held)
            sum += held;
        for (const std::size_t at : dead) {
            sum -= truth_->held[at];
            begin(at);
        }
        for (const pid_t pid : pids_)
            kill(pid, SIGCONT);
        return sum;
    }
};

TEST_F(Races, NeverOverAndAllBack) {
    std::mt19937 random(20261122);
    for (std::size_t at = 0; at < kAtOnce; at++)
        begin(at);
    Granules most = 0;
    for (int next_stop = 0; lives_ < kLives;) {
        const std::size_t at = random() % kAtOnce;
        end(at);
        if (random() % 4 == 0) region_.reap();
        begin(at);
        most = std::max(most, held(region_.accounts(), 0));
        if (--next_stop > 0) continue;
        next_stop = kLivesBetweenStops;
        region_.reap();  // just before, for it would be seen if it took from the living
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
        most = std::max(most, held_at_one_moment());
    }
    for (std::size_t at = 0; at < kAtOnce; at++)
        end(at);
    EXPECT_LE(most, kLimit);
    EXPECT_GT(most, kLimit / 2) << "there was no race";
    region_.reap();
    EXPECT_EQ(held(region_.accounts(), 0), 0U);
    for (int slot = 0; slot < kMaxProcesses; slot++)
        EXPECT_EQ(held_by(region_.accounts(), 0, slot), 0U);
}

}  // namespace
}  // namespace tessera::guard
