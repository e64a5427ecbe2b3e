#include "domain/training/role_end.hpp"

#include <gtest/gtest.h>

namespace tessera::workload {
namespace {

// A chief, a worker and a parameter server; the uid of a Job is its role.
TrainingStatus job(CleanPolicy policy = CleanPolicy::running) {
    TrainingStatus out;
    out.clean = policy;
    for (const char* role : {"chief", "worker", "ps"}) {
        RoleStatus& one = out.roles.emplace_back();
        one.role = role;
        one.object = std::string("t-") + role;
        one.uid = role;
    }
    return out;
}

std::string ends(const TrainingStatus& job) {
    std::string out;
    for (const RoleEnd& end : roles_to_end(job)) {
        const char* how = end.how == RoleEnding::suspend ? "suspend"
                          : end.how == RoleEnding::fail  ? "fail"
                                                         : "remove";
        out += (out.empty() ? "" : ", ") + std::string(how) + " " + end.uid;
    }
    return out;
}

TEST(RoleEnd, NothingWhileTheOutcomeIsOpen) {
    TrainingStatus open = job();
    EXPECT_EQ(ends(open), "");
    open.roles[1].succeeded = true;  // a worker does not decide
    EXPECT_EQ(ends(open), "");
}

TEST(RoleEnd, AfterSuccess) {
    TrainingStatus done = job();
    done.roles[0].succeeded = true;
    EXPECT_EQ(ends(done), "suspend worker, suspend ps");
    EXPECT_EQ(roles_to_end(done).front().why, "the job t-chief succeeded");
    done.roles[1].succeeded = true;
    done.roles[2].suspended = true;
    EXPECT_EQ(ends(done), "") << "the end";
}

// Goal: the anchor fails, so that its time to live counts; the role that failed keeps its pods.
TEST(RoleEnd, AfterFailure) {
    TrainingStatus failed = job();
    failed.roles[2].failed = true;
    EXPECT_EQ(ends(failed), "fail chief, suspend worker");
    EXPECT_EQ(roles_to_end(failed).front().why, "the job t-ps failed");
    failed.roles[0].failed = true;
    failed.roles[1].suspended = true;
    EXPECT_EQ(ends(failed), "");
    // A job of one role: nothing is left to end.
    failed.roles.resize(1);
    EXPECT_EQ(ends(failed), "");
}

TEST(RoleEnd, ByPolicy) {
    TrainingStatus done = job(CleanPolicy::none);
    done.roles[0].succeeded = true;
    EXPECT_EQ(ends(done), "");
    done.clean = CleanPolicy::all;
    done.roles[1].succeeded = true;
    EXPECT_EQ(ends(done), "remove worker, remove ps");
    done.roles[2].failed = true;
    EXPECT_EQ(ends(done), "remove worker") << "the log of a role that failed says why";
}

// Goal: each Job is ended once, also if a queue or a user starts it again, or had suspended it.
TEST(RoleEnd, Again) {
    TrainingStatus done = job();
    done.roles[0].succeeded = true;
    done.roles[1].was_ended = done.roles[1].suspended = true;
    done.roles[2].was_ended = true;
    EXPECT_EQ(ends(done), "fail ps") << "a queue would let it go on again";
    done.clean = CleanPolicy::all;
    done.roles[2].suspended = true;
    EXPECT_EQ(ends(done), "");
    // The reason is the first failure.
    TrainingStatus failed = job();
    failed.roles[0].failed = failed.roles[0].was_ended = true;
    failed.roles[2].failed = true;
    EXPECT_EQ(roles_to_end(failed).front().why, "the job t-ps failed");
    EXPECT_FALSE(may_still_succeed(failed));
    failed.roles[0].failed = false;
    EXPECT_TRUE(may_still_succeed(failed));
}

// Goal: nothing but what we made is joined, whatever its labels say.
// Goal: what the Job of a TrainJob says is added to it, and what others say is not.
TEST(TrainJob, ItsJob) {
    TrainingStatus job;
    job.name = "t";
    job.created_s = 10;
    job.roles.push_back(
        {.object = "t-node-0", .uid = {}, .owner = {}, .gpus = {}, .why = "failed"});
    TrainingStatus role = job;
    role.roles.front() = {.object = "t-node-0",
                          .uid = "u",
                          .owner = "jobset",
                          .gpus = {},
                          .failed = true,
                          .why = "exit code 3",
                          .started_s = 11,
                          .ended_s = 12};
    for (void (*change)(TrainingStatus&) : {
             +[](TrainingStatus& other) { other.ns = "other"; },
             +[](TrainingStatus& other) { other.created_s = 9; },
             +[](TrainingStatus& other) { other.roles.front().object = "t-worker"; },
             +[](TrainingStatus& other) { other.roles.front().owner.clear(); },
         }) {
        TrainingStatus other = role;
        change(other);
        add_job_of_train_job(other, job);
        EXPECT_EQ(job.first().uid, "");
    }
    add_job_of_train_job(role, job);
    EXPECT_EQ(job.first().uid, "u");
    EXPECT_EQ(job.first().why, "exit code 3");
    EXPECT_EQ(state_of(job), TrainingState::failed);
    EXPECT_EQ(duration_of(job, 100), 1);
}

TEST(JoinedRoles, OnlyOurs) {
    const auto one = [](const char* role, const char* object, const char* owner) {
        TrainingStatus out;
        out.name = "t";
        out.created_s = 10;
        RoleStatus& status = out.roles.emplace_back();
        status.role = role;
        status.object = status.uid = object;
        status.owner = owner;
        status.is_recorded = status.owner.empty();
        return out;
    };
    TrainingStatus younger = one("worker", "t-worker", "");
    younger.created_s = 20;
    const TrainingStatus anchor = one("chief", "t-chief", "");
    TrainingStatus unrecorded = one("ps", "t-ps", "");
    unrecorded.roles.front().is_recorded = false;
    const JoinedRoles jobs =
        joined_roles({younger, anchor, unrecorded, one("ps", "mine", "t-chief"),
                      one("evaluator", "t-evaluator", "t-chief")});
    ASSERT_EQ(jobs.size(), 1U);
    const TrainingStatus& job = jobs.begin()->second;
    ASSERT_EQ(job.roles.size(), 2U);
    EXPECT_EQ(job.first().object, "t-chief");
    EXPECT_EQ(job.roles[1].object, "t-evaluator");
}

}  // namespace
}  // namespace tessera::workload
