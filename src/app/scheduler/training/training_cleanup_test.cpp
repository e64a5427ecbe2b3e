#include "app/scheduler/training/training_cleanup.hpp"

#include <gtest/gtest.h>

#include "testing/fakes/fake_training_roles.hpp"

namespace tessera {
namespace {

using workload::TrainingStatus;
using Ended = std::vector<std::string>;

// A Job of the training job "t"; its uid is its name.
TrainingStatus role(const std::string& name, const std::string& owner = "t-chief") {
    TrainingStatus out;
    out.name = "t";
    out.ns = "team";
    out.clean = workload::CleanPolicy::running;
    workload::RoleStatus& one = out.roles.emplace_back();
    one.role = name;
    one.object = "t-" + name;
    one.uid = one.object;
    if (name == "chief") {
        one.is_recorded = true;
    } else {
        one.owner = owner;
    }
    return out;
}

TrainingStatus succeeded(TrainingStatus job) {
    job.roles.front().succeeded = true;
    return job;
}

class TrainingCleanupTest : public ::testing::Test {
  protected:
    void show(TrainingRoleChanges changes) {
        roles_.changes.push_back(std::move(changes));
        cleanup_.follow({});
    }
    void show(std::vector<TrainingStatus> roles) {
        show(TrainingRoleChanges{.upserted = std::move(roles), .deleted = {}, .listed = {}});
    }
    Ended round() {
        cleanup_.run_round({});
        return std::exchange(roles_.ended, {});
    }

    Ended rounds(int number) {
        for (int i = 0; i < number; ++i)
            cleanup_.run_round({});
        return std::exchange(roles_.ended, {});
    }

    FakeTrainingRoles roles_;
    bool leads_ = true;
    TrainingCleanup cleanup_{{roles_, WriteFence([this](auto) { return leads_; })}};
};

TEST_F(TrainingCleanupTest, EndsTheOthersOnce) {
    show({role("chief"), role("ps"), role("worker")});
    EXPECT_EQ(round(), Ended{});
    show({succeeded(role("chief"))});
    EXPECT_EQ(round(), (Ended{"team/t-ps: the job t-chief succeeded",
                              "team/t-worker: the job t-chief succeeded"}));
    EXPECT_EQ(round(), Ended{});
}

// Goal: a replica that does not lead writes nothing, and does it all once it leads.
TEST_F(TrainingCleanupTest, OnlyTheLeaderWrites) {
    leads_ = false;
    show({succeeded(role("chief")), role("ps")});
    EXPECT_EQ(round(), Ended{});
    leads_ = true;
    EXPECT_EQ(round(), (Ended{"team/t-ps: the job t-chief succeeded"}));
}

// Goal: while the API server is away, the rounds wait.
TEST_F(TrainingCleanupTest, TriesAgainAfterAnError) {
    show({succeeded(role("chief")), role("ps"), role("worker")});
    roles_.outcome = fail(Code::unavailable, "no answer");
    EXPECT_EQ(round().size(), 1U) << "the others would get the same error";
    roles_.outcome = {};
    EXPECT_EQ(rounds(9), Ended{});
    EXPECT_EQ(round().size(), 2U);
    // A Job that is gone is no error.
    roles_.outcome = fail(Code::not_found, "gone");
    show({succeeded(role("chief"))});
    EXPECT_EQ(round().size(), 2U);
    EXPECT_EQ(round().size(), 0U);
}

// Goal: a Job that the API server refuses to end keeps no other one waiting.
TEST_F(TrainingCleanupTest, GoesOnAfterARefusal) {
    show({succeeded(role("chief")), role("ps"), role("worker")});
    roles_.outcome = fail(Code::permission_denied, "a policy");
    EXPECT_EQ(round().size(), 2U);
    roles_.outcome = {};
    EXPECT_EQ(rounds(59), Ended{});
    EXPECT_EQ(round().size(), 2U);
    EXPECT_EQ(rounds(100), Ended{});
}

// Goal: a chief that succeeds takes down its workers, whose failure may be seen first.
TEST_F(TrainingCleanupTest, WaitsForASuccess) {
    TrainingStatus failed = role("worker");
    failed.roles.front().failed = true;
    show({role("chief"), role("ps"), failed});
    EXPECT_EQ(rounds(10), Ended{});
    EXPECT_EQ(round(), (Ended{"team/t-chief: the job t-worker failed",
                              "team/t-ps: the job t-worker failed"}));
    show({succeeded(role("chief"))});
    EXPECT_EQ(round(), (Ended{"team/t-ps: the job t-chief succeeded"}));
}

// Goal: Jobs that were deleted, that belong to an earlier job of the name, or to no job of ours,
// are left alone.
TEST_F(TrainingCleanupTest, OtherJobs) {
    TrainingStatus foreign;
    foreign.roles.emplace_back().uid = "foreign";
    show({succeeded(role("chief")), role("ps", "earlier"), role("worker"), foreign});
    show(TrainingRoleChanges{.upserted = {}, .deleted = {"t-worker"}, .listed = {}});
    EXPECT_EQ(round(), Ended{});
    show({role("worker")});
    show(TrainingRoleChanges{.upserted = {succeeded(role("chief"))},
                             .deleted = {},
                             .listed = std::set<std::string>{"t-chief"}});
    EXPECT_EQ(round(), Ended{});
}

}  // namespace
}  // namespace tessera
