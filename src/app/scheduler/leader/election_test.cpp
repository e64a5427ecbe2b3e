#include "app/scheduler/leader/election.hpp"

#include <gtest/gtest.h>

#include <random>
#include <thread>
#include <vector>

#include "app/scheduler/leader/own_scheduler.hpp"
#include "testing/fakes/fake_clock.hpp"
#include "testing/fakes/fake_lease_store.hpp"

namespace tessera {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr seconds kWrite{4};

// A replica that begins its term as soon as it is elected, unless `slow`.
struct Replica {
    Replica(LeaseStore& store, Clock& clock, const std::string& name)
        : election(store, clock,
                   {.identity = name, .url = "http://" + name, .duration = seconds(8)},
                   [this](int term) {
                       ++elections;
                       if (!slow) election.begin_term(term);
                   }) {}
    [[nodiscard]] bool leads() const { return election.may_write(kWrite); }

    int elections = 0;
    bool slow = false;
    Election election;
};

class ElectionTest : public ::testing::Test {
  protected:
    // The Lease as it is installed: without a holder.
    ElectionTest() { store_.edit({}); }
    FakeLeaseStore store_;
    FakeClock clock_;
    Replica a_{store_, clock_, "a"};
    Replica b_{store_, clock_, "b"};
};

// Goal: the first replica wins; the other one knows where it answers; neither writes before the
// term began.
TEST_F(ElectionTest, FirstWins) {
    a_.slow = true;
    EXPECT_FALSE(a_.leads());
    a_.election.step();
    EXPECT_FALSE(a_.leads()) << "its snapshot may lack its predecessor's last writes";
    a_.election.begin_term(1);
    EXPECT_TRUE(a_.leads());
    b_.election.step();
    EXPECT_FALSE(b_.leads());
    EXPECT_EQ(b_.election.leader_url(), "http://a");
    EXPECT_EQ(a_.election.leader_url(), "");
    EXPECT_EQ(store_.now().holder, "a");
    EXPECT_EQ(store_.now().duration_s, 8);
}

// Goal: a wait for the lead ends as soon as this replica leads, or after its limit.
TEST_F(ElectionTest, WaitsToWrite) {
    const std::stop_token never;
    clock_.on_sleep([&] {
        if (clock_.sleeps() == 5) a_.election.step();
    });
    a_.election.wait_to_write(seconds(10), never);
    EXPECT_TRUE(a_.leads());
    EXPECT_EQ(clock_.sleeps(), 5);
    a_.election.wait_to_write(seconds(10), never);
    EXPECT_EQ(clock_.sleeps(), 5) << "a leader does not wait";
    const auto begin = clock_.steady();
    b_.election.wait_to_write(seconds(2), never);
    EXPECT_EQ(clock_.steady() - begin, seconds(2));
    std::stop_source stopped;
    stopped.request_stop();
    b_.election.wait_to_write(seconds(2), stopped.get_token());
    EXPECT_EQ(clock_.steady() - begin, seconds(2));
}

// Goal: a leader that renews stays the leader.
TEST_F(ElectionTest, RenewsInTime) {
    a_.election.step();
    for (int i = 0; i < 100; ++i) {
        clock_.advance(a_.election.step());
        b_.election.step();
        ASSERT_TRUE(a_.leads());
        ASSERT_FALSE(b_.leads());
    }
    EXPECT_EQ(a_.elections, 1);
    EXPECT_EQ(store_.now().transitions, 1);
}

// Goal: the fence: a leader that cannot renew stops writing while a write would still end before
// its Lease does. The other replica takes over once the Lease is over, not earlier.
TEST_F(ElectionTest, StopsBeforeTheLeaseEnds) {
    a_.election.step();
    b_.election.step();
    clock_.advance(seconds(3));
    EXPECT_TRUE(a_.leads());
    clock_.advance(seconds(1));
    EXPECT_FALSE(a_.leads()) << "4 s are left, and a write may take 4 s";
    EXPECT_TRUE(a_.election.may_write(seconds(3)));
    clock_.advance(seconds(4));
    b_.election.step();
    EXPECT_FALSE(b_.leads()) << "8 s after it was seen the Lease may just still be good";
    clock_.advance(milliseconds(1));
    b_.election.step();
    EXPECT_TRUE(b_.leads());
    EXPECT_FALSE(a_.election.may_write({}));
    a_.election.step();
    EXPECT_EQ(a_.election.step(), seconds(1));
    EXPECT_EQ(a_.election.leader_url(), "http://b");
}

// Goal: SIGTERM hands the Lease over at once if nothing was written lately.
TEST_F(ElectionTest, GivesBack) {
    a_.election.step();
    b_.election.step();
    std::jthread running([&](const std::stop_token& stop) { a_.election.run(stop); });
    running.request_stop();
    running.join();
    EXPECT_FALSE(a_.leads());
    EXPECT_EQ(store_.now().holder, "");
    b_.election.step();
    EXPECT_TRUE(b_.leads());
    b_.election.give_back();
    a_.election.give_back();  // the Lease is not its own any more
    EXPECT_EQ(store_.now().holder, "");
}

// Goal: a write that was begun may still be under way after its caller gave up. The Lease is given
// back when that write is over, not before. may_write() alone delays nothing.
TEST_F(ElectionTest, GivesBackAfterItsLastWrite) {
    a_.election.step();
    clock_.advance(seconds(1));
    EXPECT_TRUE(a_.election.begin_write(kWrite));
    clock_.advance(seconds(1));
    EXPECT_TRUE(a_.leads());
    clock_.on_sleep([&] { EXPECT_EQ(store_.now().holder, "a"); });
    const auto begin = clock_.steady();
    a_.election.give_back();
    EXPECT_EQ(clock_.steady() - begin, kWrite - seconds(1));
    EXPECT_EQ(store_.now().holder, "");
}

// Goal: a renewal whose answer was lost does not lose the Lease. Nor does an API server that cannot
// be reached for less than the Lease lasts.
TEST_F(ElectionTest, LostAnswers) {
    a_.election.step();
    store_.lose_answer();
    a_.election.step();
    EXPECT_TRUE(a_.leads());
    a_.election.step();  // refused: the version is its own newer one
    a_.election.step();  // looks
    a_.election.step();  // renews
    clock_.advance(seconds(3));
    EXPECT_TRUE(a_.leads());
    store_.set_down(true);
    a_.election.step();
    store_.set_down(false);
    a_.election.step();
    EXPECT_TRUE(a_.leads());
    EXPECT_EQ(a_.elections, 1);
}

// Goal: a replica whose Lease expired begins a new term, even if no other replica has taken it.
TEST_F(ElectionTest, ANewTermAfterALoss) {
    a_.slow = true;
    a_.election.step();
    a_.election.begin_term(1);
    store_.set_down(true);
    clock_.advance(seconds(9));
    a_.election.step();
    EXPECT_FALSE(a_.election.may_write({}));
    store_.set_down(false);
    a_.election.step();
    EXPECT_EQ(a_.elections, 2);
    a_.election.begin_term(1);
    EXPECT_FALSE(a_.leads()) << "that term is over";
    a_.election.begin_term(2);
    EXPECT_TRUE(a_.leads());
    EXPECT_EQ(store_.now().transitions, 1);
}

// Goal: a replica that was killed and is back under its name need not wait for its Lease to end. It
// waits for the writes that it may have begun: its first list is read when they have landed.
TEST_F(ElectionTest, BackUnderItsName) {
    a_.election.step();
    Replica again(store_, clock_, "a");
    clock_.advance(seconds(1));
    again.election.step();
    EXPECT_EQ(store_.now().transitions, 1);
    clock_.advance(milliseconds(4'999));
    EXPECT_EQ(again.election.step(), milliseconds(1));
    EXPECT_EQ(again.elections, 0) << "a list that is read now may lack a write";
    clock_.advance(milliseconds(1));
    again.election.step();
    EXPECT_EQ(again.elections, 1);
    EXPECT_TRUE(again.leads());
}

// Goal: the next replica does not list too early either, if the one that is back stops at once.
TEST_F(ElectionTest, BackUnderItsNameAndGone) {
    a_.election.step();
    Replica again(store_, clock_, "a");
    clock_.advance(seconds(1));
    again.election.step();
    const auto begin = clock_.steady();
    clock_.on_sleep([&] { EXPECT_EQ(store_.now().holder, "a"); });
    again.election.give_back();
    EXPECT_EQ(clock_.steady() - begin, seconds(5));
    EXPECT_EQ(store_.now().holder, "");
}

// Goal: a replica leads only while it is a candidate. When it is one no more, it writes nothing
// new, and gives the Lease back once its last write is over.
TEST_F(ElectionTest, OnlyACandidateLeads) {
    bool is_candidate = false;
    Election c(store_, clock_,
               {.identity = "c",
                .url = "http://c",
                .duration = seconds(8),
                .is_candidate = [&] { return is_candidate; }},
               [&c](int term) { c.begin_term(term); });
    c.step();
    EXPECT_EQ(store_.now().holder, "");
    is_candidate = true;
    c.step();
    EXPECT_TRUE(c.begin_write(kWrite));
    is_candidate = false;
    clock_.on_sleep([&] {
        EXPECT_EQ(store_.now().holder, "c");
        EXPECT_FALSE(c.may_write({}));
    });
    const auto begin = clock_.steady();
    c.step();
    EXPECT_EQ(clock_.steady() - begin, kWrite);
    EXPECT_EQ(store_.now().holder, "");
    c.step();
    EXPECT_EQ(store_.now().holder, "");
    a_.election.step();
    EXPECT_TRUE(a_.leads());
    c.step();
    EXPECT_EQ(c.leader_url(), "http://a") << "it still redirects to the leader";
}

// Goal: the controller of a pod is a candidate where kube-scheduler of the same pod leads.
TEST(OwnScheduler, HoldsItsLease) {
    FakeLeaseStore lease;
    OwnScheduler own(lease, "tessera-controller-6b5-x");
    EXPECT_FALSE(own.leads()) << "there is no Lease yet";
    const auto with_holder = [&](const std::string& holder) {
        lease.edit({.holder = holder});
        return own.leads();
    };
    EXPECT_TRUE(with_holder("tessera-controller-6b5-x_0a5e"));
    lease.set_down(true);
    EXPECT_TRUE(own.leads());
    lease.set_down(false);
    EXPECT_FALSE(with_holder("tessera-controller-6b5-xy_0a5e"));
    EXPECT_FALSE(with_holder("tessera-controller-6b5-x"));
    EXPECT_FALSE(with_holder(""));
    lease.set_down(true);
    EXPECT_FALSE(own.leads());
}

// Goal: an edited Lease does not block replicas for ever, and lets none take over too early.
TEST_F(ElectionTest, EditedLease) {
    for (const std::int64_t duration : {std::int64_t{0}, std::int64_t{-5}, std::int64_t{1} << 40}) {
        store_.edit({.holder = "gone", .duration_s = duration, .version = ""});
        a_.election.step();
        clock_.advance(seconds(7));
        a_.election.step();
        EXPECT_FALSE(a_.leads());
        clock_.advance(seconds(54));
        a_.election.step();
        EXPECT_TRUE(a_.leads());
        a_.election.give_back();
    }
}

// Goal: there are never two replicas that may write, whatever fails, and in the end there is one.
// Method: random steps of three replicas, with the API server away or slow, answers lost and
// replicas that stop for a while.
TEST_F(ElectionTest, NeverTwo) {
    Replica c{store_, clock_, "c"};
    const std::vector<Replica*> replicas = {&a_, &b_, &c};
    std::mt19937 random(7);
    store_.on_written([&] { clock_.advance(milliseconds(random() % 1'500)); });
    for (int i = 0; i < 20'000; ++i) {
        if (random() % 50 == 0) store_.set_down(random() % 3 == 0);
        if (random() % 20 == 0) store_.lose_answer();
        clock_.advance(milliseconds(random() % 700));
        replicas[random() % (random() % 40 == 0 ? 1 : 3)]->election.step();
        int leaders = 0;
        for (const Replica* replica : replicas)
            leaders += replica->election.may_write({}) ? 1 : 0;
        ASSERT_LE(leaders, 1) << "after step " << i;
    }
    EXPECT_GT(a_.elections + b_.elections + c.elections, 10);
    store_.set_down(false);
    for (int i = 0; i < 60; ++i) {
        clock_.advance(seconds(1));
        for (Replica* replica : replicas)
            replica->election.step();
    }
    EXPECT_EQ(a_.leads() + b_.leads() + c.leads(), 1);
}

// Goal: docs/decisions/0009: the first list of a replica that is back under its name includes the
// writes that were on the wire. `elected` is called once they have landed, not before.
TEST_F(ElectionTest, BackUnderItsNameListsAfterTheLastWrite) {
    a_.election.step();
    Replica again(store_, clock_, "a");
    again.election.step();
    EXPECT_EQ(again.elections, 0) << "the list would be read while a Binding is on the wire";
}

// Goal: the Lease is deleted while its holder still writes by it.
TEST_F(ElectionTest, DeletedLease) {
    a_.election.step();
    store_.remove();
    b_.election.step();
    EXPECT_FALSE(a_.leads() && b_.leads());
}

}  // namespace
}  // namespace tessera
