#include "app/workload/submit.hpp"

#include <gtest/gtest.h>

#include "domain/training/submit_flags.hpp"
#include "testing/fakes/fake_trainings.hpp"

namespace tessera {
namespace {

using workload::Training;
using workload::TrainingPod;
using workload::TrainingStatus;
using workload::TrainingType;

class SubmitTest : public ::testing::Test {
  protected:
    static Training job() {
        workload::TensorflowJobFlags flags;
        flags.submit.name = "train";
        flags.submit.workers = 2;
        flags.submit.pod.image = "image:1";
        flags.submit.words = {"python"};
        flags.chief = true;
        Training out = workload::tensorflow_job(flags).value();
        out.ns = "team";
        out.arguments = {"submit", "tf", "--name=train"};
        return out;
    }
    Result<> create(const Training& made) {
        return create_training(
            cluster_, made, [&](const std::string& line) { printed_.push_back(line); },
            [](const std::string&) {});
    }

    FakeTrainings cluster_;
    std::vector<std::string> printed_;
};

TEST_F(SubmitTest, CreatesTheAnchorFirst) {
    ASSERT_TRUE(create(job()));
    EXPECT_EQ(cluster_.calls,
              (std::vector<std::string>{"create train-chief", "service of uid-train-chief",
                                        "role worker of uid-train-chief"}));
    EXPECT_EQ(printed_,
              (std::vector<std::string>{"job.batch/train-chief created", "service/train created",
                                        "job.batch/train-worker created"}));
    EXPECT_EQ(create(job()).error().code, Code::conflict);
}

// Goal: a command that was killed in between is completed by the same command, and by no other.
TEST_F(SubmitTest, CompletesWhatWasCut) {
    ASSERT_TRUE(cluster_.create(job()));
    Training other = job();
    other.arguments.emplace_back("--retry=1");
    EXPECT_EQ(create(other).error().code, Code::conflict);
    ASSERT_TRUE(create(job()));
    EXPECT_EQ(cluster_.jobs.front().roles.size(), 2U);
    EXPECT_TRUE(cluster_.jobs.front().has_service);
}

// Goal: a job that is being deleted gets no new objects, which would be deleted with it.
TEST_F(SubmitTest, WaitsForADeletion) {
    ASSERT_TRUE(cluster_.create(job()));
    cluster_.jobs.front().roles.front().is_deleting = true;
    EXPECT_EQ(create(job()).error(),
              (Error{Code::conflict,
                     "the training job train is being deleted; try again when it is gone"}));
    EXPECT_EQ(cluster_.jobs.front().roles.size(), 1U);
}

// Goal: a job of one pod whose file is missing is completed, too, but not with other files, and not
// after its end.
TEST_F(SubmitTest, CompletesTheFiles) {
    const auto with_file = [](const std::string& text) {
        Training out = job();
        out.roles.resize(1);
        out.has_service = false;
        out.roles.front().pod.files = {{"/train.py", text}};
        return out;
    };
    ASSERT_TRUE(cluster_.create(with_file("a")));
    EXPECT_EQ(create(with_file("b")).error().code, Code::conflict);
    EXPECT_TRUE(create(with_file("a")));
    EXPECT_EQ(create(with_file("a")).error().code, Code::conflict);
    cluster_.jobs.front().roles.front().succeeded = true;
    EXPECT_EQ(create(with_file("a")).error().code, Code::conflict);
}

// Goal: the Secret of an MPI job is there before its workers are, and is completed like the rest.
TEST_F(SubmitTest, Mpi) {
    workload::MpiJobFlags flags;
    flags.submit.name = "ring";
    flags.submit.workers = 2;
    flags.submit.pod.image = "image:1";
    flags.submit.words = {"mpirun"};
    Training made = workload::mpi_job(flags).value();
    made.ns = "team";
    made.shell_secret = "secret";
    ASSERT_TRUE(cluster_.create(made));
    ASSERT_TRUE(create(made));
    ASSERT_EQ(printed_.size(), 4U);
    EXPECT_EQ(printed_[1], "secret/ring-mpi created");
    EXPECT_EQ(printed_[2], "service/ring created");
    EXPECT_EQ(printed_[3], "job.batch/ring-worker created");
    EXPECT_EQ(create(made).error().code, Code::conflict);
}

// Goal: the TrainingRuntime of a TrainJob is the anchor; the TrainJob, which starts the pods, comes
// after their files.
TEST_F(SubmitTest, TrainJob) {
    workload::SubmitFlags flags;
    flags.name = "train";
    flags.backend = "trainjob";
    flags.pod.image = "image:1";
    flags.pod.files = {{"/train.py", "text"}};
    flags.words = {"python"};
    Training made = workload::plain_job(flags).value();
    made.ns = "team";
    ASSERT_TRUE(create(made));
    EXPECT_EQ(printed_,
              (std::vector<std::string>{"trainingruntime.trainer.kubeflow.org/train created",
                                        "configmap/" + files_name(made) + " created",
                                        "trainjob.trainer.kubeflow.org/train created"}));
    EXPECT_EQ(create(made).error().code, Code::conflict);
    cluster_.forget("trainjob of train");
    ASSERT_TRUE(create(made)) << "its TrainJob was deleted";
    EXPECT_EQ(printed_.back(), "trainjob.trainer.kubeflow.org/train created");
}

// Goal: TensorBoard comes last, and what of it is missing is created, too.
TEST_F(SubmitTest, Tensorboard) {
    Training made = job();
    made.roles.front().pod.mounts = {{workload::VolumeKind::claim, "logs", "/training_logs"}};
    ASSERT_TRUE(add_tensorboard({.wanted = true, .image = {}, .logdir = {}}, made));
    ASSERT_TRUE(create(made));
    EXPECT_EQ(printed_[3], "deployment.apps/train-tensorboard created");
    EXPECT_EQ(printed_[4], "service/train-tensorboard created");
    EXPECT_EQ(create(made).error().code, Code::conflict);
}

// Goal: no half-made job is left after a refusal; after an outage it may be complete.
TEST_F(SubmitTest, UndoesTheAnchor) {
    cluster_.service_error = Error{Code::conflict, "services train exists already"};
    EXPECT_EQ(create(job()).error().text,
              "services train exists already; the job was deleted again");
    EXPECT_TRUE(cluster_.jobs.empty());
    cluster_.service_error = Error{Code::unavailable, "no answer"};
    EXPECT_EQ(create(job()).error().text,
              "no answer; run the same command again to complete the job");
    EXPECT_EQ(cluster_.jobs.size(), 1U);
}

TEST_F(SubmitTest, Finds) {
    ASSERT_TRUE(create(job()));
    EXPECT_TRUE(find_training(cluster_, "team", "train", {}));
    EXPECT_TRUE(find_training(cluster_, "team", "train", TrainingType::tensorflow));
    const auto none = find_training(cluster_, "team", "train", TrainingType::pytorch);
    EXPECT_EQ(
        none.error().text,
        "there is no pytorchjob train in namespace team; tessera list shows those that exist");
}

TEST_F(SubmitTest, PodForLogs) {
    TrainingStatus one;
    one.name = "train";
    one.roles.push_back({.role = "worker", .object = "w", .gpus = {}, .why = "exceeded quota"});
    const auto pod = [&](const std::string& name = "") {
        const auto chosen = pod_for_logs(one, name);
        return chosen ? chosen->pod.name : chosen.error().text;
    };
    EXPECT_EQ(pod(), "the job train has no pod: exceeded quota");
    const auto add = [&](const std::string& name, const std::string& phase) {
        TrainingPod made;
        made.pod.name = name;
        made.pod.phase = phase;
        one.pods.push_back(made);
    };
    add("a", "Running");
    add("b", "Running");
    EXPECT_EQ(pod(), "a");
    EXPECT_EQ(pod("b"), "b");
    EXPECT_EQ(pod("c"), "--instance: the job train has no pod c; it has:\n  a\n  b");
    one.pods[1].pod.phase = "Failed";
    EXPECT_EQ(pod(), "a") << "another pod may take its place";
    one.roles[0].failed = true;
    EXPECT_EQ(pod(), "b");
}

// Goal: a command runs in the first pod that runs, although another one has failed.
TEST_F(SubmitTest, PodForCommand) {
    TrainingStatus one;
    one.name = "train";
    one.roles.push_back({.role = "worker", .object = "w", .gpus = {}, .failed = true, .why = ""});
    for (const char* phase : {"Failed", "Running", "Running"}) {
        TrainingPod made;
        made.pod.name = std::to_string(one.pods.size());
        made.pod.phase = phase;
        one.pods.push_back(made);
    }
    EXPECT_EQ(pod_for_command(one, "")->pod.name, "1");
    EXPECT_EQ(pod_for_command(one, "2")->pod.name, "2");
    for (TrainingPod& each : one.pods)
        each.pod.phase = "Failed";
    EXPECT_EQ(pod_for_command(one, "")->pod.name, "0");
    one.pods.clear();
    EXPECT_EQ(pod_for_command(one, "").error().text, "the job train has no pod");
}

}  // namespace
}  // namespace tessera
