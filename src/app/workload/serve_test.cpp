#include "app/workload/serve.hpp"

#include <gtest/gtest.h>

#include "app/workload/gpu_fit.hpp"
#include "domain/serving/serve_flags.hpp"
#include "testing/builders/builders.hpp"
#include "testing/fakes/fake_servings.hpp"

namespace tessera {
namespace {

using workload::Serving;
using workload::ServingStatus;
using workload::ServingType;

class ServeTest : public ::testing::Test {
  protected:
    static Serving job(const std::string& policy = "") {
        workload::TensorflowFlags flags;
        flags.serve.ns = "team";
        flags.serve.name = "mnist";
        flags.serve.pod.gpu.gpumemory = "3";
        flags.model_name = "mnist";
        flags.model_path = "/models/mnist";
        flags.version_policy = policy;
        Serving out = workload::tensorflow_serving(flags).value();
        out.arguments = {"serve", "tensorflow", "--name=mnist"};
        return out;
    }
    Result<> create(const Serving& made) {
        return create_serving(
            cluster_, made, [&](const std::string& line) { printed_.push_back(line); },
            [&](const std::string& line) { warnings_.push_back(line); });
    }
    void add(const std::string& version, ServingType type = ServingType::tensorflow) {
        ServingStatus one;
        one.id = {"mnist", version, type};
        one.ns = "team";
        cluster_.jobs.push_back(one);
    }

    FakeServings cluster_;
    std::vector<std::string> printed_;
    std::vector<std::string> warnings_;
};

// Goal: the Deployment is first, because it owns the others.
TEST_F(ServeTest, CreatesTheAnchorFirst) {
    ASSERT_TRUE(create(job("all")));
    const std::string object = "mnist-tensorflow-serving";
    EXPECT_EQ(cluster_.calls,
              (std::vector<std::string>{"create " + object, "files of uid-" + object,
                                        "service of uid-" + object}));
    EXPECT_EQ(printed_.front(), "deployment.apps/mnist-tensorflow-serving created");
    EXPECT_EQ(printed_.back(), "service/mnist-tensorflow-serving created");
    EXPECT_TRUE(warnings_.empty());
}

// Goal: a new version gets none of the traffic that others share, until a split says so.
TEST_F(ServeTest, ANewVersionIsOutOfASplit) {
    add("v1");
    cluster_.jobs.back().object = "mnist-v1-tensorflow-serving";
    Serving made = job();
    made.id.version = "v2";
    ASSERT_TRUE(create(made));
    EXPECT_EQ(cluster_.jobs.back().in_split, true);
    cluster_.jobs.front().traffic.emplace();
    made.id.version = "v3";
    printed_.clear();
    ASSERT_TRUE(create(made));
    EXPECT_EQ(cluster_.jobs.back().in_split, false);
    EXPECT_EQ(printed_.front(),
              "version v3 gets none of the traffic that the versions of mnist share; tessera serve "
              "traffic-split changes that");
}

// Goal: a command that was killed in between is completed by the same command, and by no other.
TEST_F(ServeTest, CompletesWhatWasCut) {
    ASSERT_TRUE(cluster_.create(job()));
    cluster_.calls.clear();
    Serving other = job();
    other.arguments.emplace_back("--gpumemory=4");
    EXPECT_EQ(create(other).error().code, Code::conflict);
    ASSERT_TRUE(create(job()));
    EXPECT_EQ(cluster_.calls, std::vector<std::string>{"service of uid-mnist-tensorflow-serving"});
    const auto again = create(job());
    ASSERT_FALSE(again);
    EXPECT_EQ(
        again.error().text,
        "the serving job mnist exists already in namespace team; change it with tessera serve "
        "update tensorflow --name mnist, or delete it with tessera serve delete mnist");
}

// Goal: a name that is taken is explained by what has it: another job, or another Deployment.
TEST_F(ServeTest, NamesThatAreTaken) {
    Serving other = job();
    other.id = {"mnist-v1", "", ServingType::tensorflow};
    ASSERT_TRUE(create(other));
    Serving versioned = job();
    versioned.id.version = "v1";  // the same Deployment
    EXPECT_NE(create(versioned).error().text.find("the serving job mnist-v1 exists already"),
              std::string::npos);
    cluster_.jobs.clear();
    cluster_.create_error = Error{Code::conflict, "exists"};
    EXPECT_NE(create(job()).error().text.find("tessera serve did not make it"), std::string::npos);
}

// Goal: what the same command began with other files is another job.
TEST_F(ServeTest, OtherFilesAreAnotherJob) {
    ASSERT_TRUE(cluster_.create(job("all")));
    EXPECT_EQ(create(job("latest")).error().code, Code::conflict);
    EXPECT_TRUE(create(job("all")));
}

// Goal: an update writes only what differs, completes a job without its Service, and keeps ports.
TEST_F(ServeTest, Updates) {
    ASSERT_TRUE(cluster_.create(job()));
    const auto update = [&](const Serving& after, bool replicas = false) {
        return update_serving(cluster_, cluster_.jobs.front(), job(), after, replicas,
                              [&](const std::string& line) { printed_.push_back(line); });
    };
    ASSERT_TRUE(update(job(), true));
    EXPECT_TRUE(cluster_.jobs.front().has_service);
    EXPECT_EQ(cluster_.changes, std::vector<workload::ServingChange>{{.replicas = true}});
    Serving after = job();
    after.max_surge = "0";
    ASSERT_TRUE(update(after));
    EXPECT_EQ(cluster_.changes.back(), (workload::ServingChange{.strategy = true}));
    after.pod.gpus.memory = gibibytes(4);
    ASSERT_TRUE(update(after));
    EXPECT_EQ(cluster_.changes.back(), (workload::ServingChange{.pods = true, .strategy = true}));
    ASSERT_TRUE(update(job()));
    EXPECT_EQ(cluster_.changes.size(), 3U);
    EXPECT_EQ(printed_.back(), "deployment.apps/mnist-tensorflow-serving unchanged");
    after.pod.ports.pop_back();
    EXPECT_EQ(update(after).error().code, Code::invalid_argument);
}

// Goal: no half-made job is left if the Service is refused, and the error says what is. After an
// outage the job may be complete, so it stays.
TEST_F(ServeTest, UndoesTheDeployment) {
    cluster_.service_error = Error{Code::permission_denied, "services: no"};
    auto made = create(job());
    EXPECT_EQ(made.error().text, "services: no; the deployment was deleted again");
    EXPECT_TRUE(cluster_.jobs.empty());
    cluster_.remove_error = Error{Code::unavailable, "away"};
    made = create(job());
    EXPECT_EQ(made.error().text, "services: no; the deployment is left: away");
    EXPECT_EQ(made.error().code, Code::permission_denied);
    cluster_.jobs.clear();
    cluster_.service_error = Error{Code::unavailable, "no answer"};
    EXPECT_EQ(create(job()).error().text,
              "no answer; run the same command again to complete the job");
    EXPECT_EQ(cluster_.jobs.size(), 1U);
}

// Goal: a share that no GPU can have is named with the largest GPU; without GPUs, or without the
// right to see them, there is nothing to say.
TEST_F(ServeTest, WarnsOfALargeShare) {
    cluster_.gpus = std::vector<NodeInventory>{build::node("a", 2, gibibytes(16)),
                                               build::node("b", 1, gibibytes(16))};
    cluster_.gpus->front().gpus[1].memory = gibibytes(24);
    Serving large = job();
    large.pod.gpus.memory = gibibytes(25);
    ASSERT_TRUE(create(large));
    ASSERT_EQ(warnings_.size(), 1U);
    EXPECT_NE(warnings_[0].find("no GPU of the cluster has 25Gi; the largest is GPU 1 of node a"),
              std::string::npos)
        << warnings_[0];
    EXPECT_EQ(no_gpu_is_large_enough({.memory = gibibytes(25)}, {}), "");
    EXPECT_EQ(no_gpu_is_large_enough({.whole = 4}, *cluster_.gpus), "");
    EXPECT_EQ(no_gpu_is_large_enough({.memory = gibibytes(15)}, *cluster_.gpus), "");
}

TEST_F(ServeTest, FindsOneOrNamesAll) {
    const auto found = [&](ServingChoice choice) {
        choice.ns = "team";
        choice.name = "mnist";
        const auto one = find_serving(cluster_, choice);
        return one ? one->id.version : one.error().text;
    };
    EXPECT_TRUE(found({}).starts_with("there is no serving job mnist in namespace team; "));
    add("v1");
    EXPECT_EQ(found({}), "v1");
    add("v2");
    EXPECT_EQ(found({}),
              "2 serving jobs have the name mnist; add --version or --type:\n"
              "NAME   TYPE        VERSION\nmnist  tf-serving  v1\nmnist  tf-serving  v2");
    EXPECT_EQ(found({.version = "v2"}), "v2");
    add("v3", ServingType::custom);
    EXPECT_EQ(found({.type = ServingType::custom}), "v3");
    EXPECT_TRUE(found({.version = "v9"}).starts_with("there is no serving job mnist with version"));
}

// Goal: the autoscaler belongs to the Deployment, and comes before the Service, which tells that
// the job is complete.
TEST_F(ServeTest, CreatesTheAutoscaler) {
    Serving made = job();
    made.scaling = workload::Scaling{.least = 1, .most = 4, .gpu_use = 60};
    ASSERT_TRUE(create(made));
    const std::string object = "mnist-tensorflow-serving";
    EXPECT_EQ(cluster_.calls, (std::vector<std::string>{"create " + object, "scale uid-" + object,
                                                        "service of uid-" + object}));
    EXPECT_EQ(printed_[1], "horizontalpodautoscaler.autoscaling/" + object + " created");
    cluster_.jobs.clear();
    cluster_.scaling_error = Error{Code::permission_denied, "no right"};
    EXPECT_EQ(create(made).error().code, Code::permission_denied);
    EXPECT_TRUE(cluster_.jobs.empty());
}

// Goal: an update changes the autoscaler as the flags say, and never the number of pods by itself.
TEST_F(ServeTest, UpdatesTheAutoscaler) {
    const Serving fixed = job();
    Serving scaled = fixed;
    scaled.scaling = workload::Scaling{.least = 1, .most = 4, .gpu_use = 60};
    Serving more = scaled;
    more.scaling->most = 5;
    Serving busier = more;
    busier.scaling->gpu_use = 80;
    ASSERT_TRUE(create(fixed));
    struct Step {
        const Serving& recorded;
        const Serving& job;
        std::vector<std::string> calls;
        const char* printed;
    };
    const std::string update = "update mnist-tensorflow-serving";
    const std::string uid = "uid-mnist-tensorflow-serving";
    const std::vector<Step> steps = {
        {fixed, scaled, {"scale " + uid, update}, "created"},
        {scaled, more, {"rescale " + uid, update}, "updated"},
        {more, more, {}, ""},
        {more, fixed, {"unscale " + uid, update}, "deleted"},
        {scaled, scaled, {"scale " + uid}, "created"},  // it was deleted by hand
        // The command that recorded the flags, or was to, was killed.
        {more, more, {"rescale " + uid}, "updated"},
        {busier, busier, {"rescale " + uid}, "updated"},
        {fixed, fixed, {"unscale " + uid}, "deleted"},
    };
    for (const Step& step : steps) {
        cluster_.calls.clear();
        cluster_.changes.clear();
        printed_.clear();
        const ServingStatus before = cluster_.jobs.front();
        ASSERT_TRUE(update_serving(cluster_, before, step.recorded, step.job, false,
                                   [&](const std::string& line) { printed_.push_back(line); }));
        EXPECT_EQ(cluster_.calls, step.calls);
        for (const workload::ServingChange& change : cluster_.changes)
            EXPECT_EQ(change, (workload::ServingChange{.scaling = true}));
        if (*step.printed != '\0') {
            EXPECT_TRUE(printed_.front().ends_with(step.printed)) << printed_.front();
        }
    }
    // A Service splits connections by the numbers of pods.
    ServingStatus split = cluster_.jobs.front();
    // The other version has no ready pod.
    split.traffic = {.takes_part = true, .percent = 100};
    cluster_.calls.clear();
    const auto refused = update_serving(cluster_, split, fixed, scaled, false, [](const auto&) {});
    ASSERT_FALSE(refused);
    EXPECT_TRUE(refused.error().text.starts_with("--max-replicas: a Service splits"));
    EXPECT_TRUE(cluster_.calls.empty());
}

// Goal: the log of the right pod: the only one, the one that is not ready, or a named one.
TEST_F(ServeTest, PodForLogs) {
    ServingStatus one;
    one.id.name = "mnist";
    one.why = "exceeded quota";
    const auto pod = [&](const std::string& name = "") {
        const auto chosen = pod_for_logs(one, name);
        return chosen ? chosen->name : chosen.error().text;
    };
    EXPECT_EQ(pod(), "the serving job mnist has no pod: exceeded quota");
    one.pods.push_back({.name = "a", .status = "Running", .node = "n", .why = ""});
    EXPECT_EQ(pod(), "a");
    one.pods.push_back({.name = "b", .status = "Running", .node = "n", .why = ""});
    EXPECT_EQ(pod(), "--instance: name one of the pods of mnist:\n  a\n  b");
    EXPECT_EQ(pod("b"), "b");
    EXPECT_EQ(pod("c"), "--instance: no such pod in mnist:\n  a\n  b");
    one.pods.push_back(
        {.name = "e", .phase = "Failed", .status = "Evicted", .node = "n", .why = "disk"});
    EXPECT_TRUE(pod().starts_with("--instance: name one"));
    one.pods.push_back({.name = "c", .status = "Pending", .node = "", .why = "no GPU"});
    one.pods.push_back({.name = "d", .status = "CrashLoopBackOff", .node = "n", .why = "exit 1"});
    EXPECT_EQ(pod(), "d");
}

// Goal: a command runs in a pod that runs, whatever other pods do.
TEST_F(ServeTest, PodForCommand) {
    ServingStatus one;
    one.id.name = "mnist";
    const auto pod = [&](const std::string& name = "") {
        const auto chosen = pod_for_command(one, name);
        return chosen ? chosen->name : chosen.error().text;
    };
    EXPECT_EQ(pod(), "the serving job mnist has no pod");
    one.pods.push_back({.name = "a", .phase = "Pending", .node = "n", .why = "no image"});
    EXPECT_EQ(pod(), "a");
    one.pods.push_back({.name = "b", .phase = "Running", .node = "n", .why = ""});
    EXPECT_EQ(pod(), "b");
    one.pods.push_back({.name = "c", .phase = "Running", .node = "n", .why = "not ready"});
    EXPECT_EQ(pod(), "--instance: name one of the pods of mnist:\n  b\n  c");
    EXPECT_EQ(pod("c"), "c");
}

}  // namespace
}  // namespace tessera
