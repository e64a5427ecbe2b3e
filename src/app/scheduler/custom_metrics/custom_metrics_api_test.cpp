#include "app/scheduler/custom_metrics/custom_metrics_api.hpp"

#include <gtest/gtest.h>

#include "testing/fakes/fake_clock.hpp"

namespace tessera {
namespace {

constexpr std::string_view kOf = "/apis/custom.metrics.k8s.io/v1beta2/namespaces/team/pods/";

class FakeReports final : public AgentReports {
  public:
    explicit FakeReports(FakeClock& clock) : clock_(clock) {}
    Result<std::vector<AgentReport>> read(const std::stop_token& /*stop*/) override {
        ++calls;
        if (fault) return fail(*fault);
        std::vector<AgentReport> out = reports;
        for (AgentReport& report : out) {
            report.at = clock_.steady();
            report.unix_s = clock_.unix_ns() / 1'000'000'000;
        }
        return out;
    }

    std::vector<AgentReport> reports;
    std::optional<Error> fault;
    int calls = 0;

  private:
    FakeClock& clock_;
};

class FakePods final : public MeasuredPods {
  public:
    Result<std::vector<MeasuredPod>> select(const std::string& ns,
                                            const std::string& selector) override {
        asked = ns + " " + selector;
        if (selector == "=") return fail(Code::invalid_argument, "bad selector");
        return pods;
    }
    Result<MeasuredPod> get(const std::string& /*ns*/, const std::string& name) override {
        for (const MeasuredPod& pod : pods) {
            if (pod.name == name) return pod;
        }
        return fail(Code::not_found, "no pod");
    }

    std::vector<MeasuredPod> pods;
    std::string asked;
};

class FakeCounts final : public RequestCounts {
  public:
    explicit FakeCounts(FakeClock& clock) : clock_(clock) {}
    std::vector<RequestCount> read(std::span<const MeasuredPod> pods,
                                   const std::stop_token& /*stop*/) override {
        std::vector<RequestCount> out;
        asked.clear();
        for (const MeasuredPod& pod : pods) {
            asked.push_back(pod.name);
            const auto found = requests.find(pod.name);
            if (found == requests.end()) continue;
            out.push_back({.pod = pod.uid,
                           .at = clock_.steady(),
                           .unix_s = 7,
                           .milli = found->second * 1'000});
        }
        return out;
    }

    std::map<std::string, std::int64_t> requests;  // by the pod's name
    std::vector<std::string> asked;

  private:
    FakeClock& clock_;
};

class CustomMetricsTest : public ::testing::Test {
  protected:
    CustomMetricsTest() {
        pods_.pods = {{"a", PodUid("u-a")}, {"b", PodUid("u-b")}, {"cpu", PodUid("u-c")}};
    }
    static ShareUse share(const char* pod, std::int64_t kernels_ms) {
        ShareUse use;
        use.pod = PodUid(pod);
        use.container = "main";
        use.gpu = GpuUuid("GPU-a");
        use.used = {kMiB * 256};
        use.limit = {kMiB * 1024};
        use.cores = {50};
        use.is_timed = true;
        use.had.kernels_ns = kernels_ms * 1'000'000;
        return use;
    }
    // A round `after` the last one, in which each node has such shares.
    void round(std::map<std::string, std::vector<ShareUse>> nodes, int after_s = 10) {
        clock_.advance(std::chrono::seconds(after_s));
        reports_.reports.clear();
        for (auto& [node, shares] : nodes) {
            reports_.reports.push_back(
                {.node = NodeName(node), .at = {}, .unix_s = 0, .shares = std::move(shares)});
        }
        sampler_.run_round({});
    }
    RouteAnswer get(const std::string& rest, std::string_view query = "") {
        return api_.answer(std::string(kOf) + rest, query);
    }
    // "a=50,b=0" of the values of all pods; the status if it is not 200.
    std::string uses(const std::string& metric = "tessera_gpu_compute_use") {
        const RouteAnswer answer = get("*/" + metric, "labelSelector=app%3Dx");
        if (answer.status != 200) return std::to_string(answer.status);
        const auto document = JsonDocument::parse(answer.body);
        std::string out;
        for (const JsonValue item : document->root()["items"].elements()) {
            out += (out.empty() ? "" : ",") + item["describedObject"]["name"].text_or("") + "=" +
                   item["value"].text_or("");
            window_ = item["windowSeconds"].integer().value_or(-1);
        }
        return out;
    }

    FakeClock clock_;
    FakeReports reports_{clock_};
    FakePods pods_;
    UseSampler sampler_{reports_, clock_};
    FakeCounts counts_{clock_};
    RequestRates rates_{counts_, clock_};
    CustomMetricsApi api_{sampler_, rates_, pods_};
    std::int64_t window_ = -1;
};

// Goal: values of the pods that are selected, by two reports or more, over 30 s at most; pods
// without a GPU share have none.
TEST_F(CustomMetricsTest, ValuesOfPods) {
    EXPECT_EQ(uses(), "503");
    round({{"n1", {share("u-a", 0)}}, {"n2", {share("u-b", 0)}}});
    EXPECT_EQ(uses(), "");
    EXPECT_EQ(uses("tessera_gpu_memory_use"), "a=25,b=25");
    EXPECT_EQ(pods_.asked, "team app=x");
    round({{"n1", {share("u-a", 2'500)}}, {"n2", {share("u-b", 0)}}});
    EXPECT_EQ(uses(), "a=50,b=0");
    EXPECT_EQ(window_, 10);
    for (int i = 0; i < 6; ++i)
        round({{"n1", {share("u-a", 2'500)}}, {"n2", {share("u-b", 1'500LL * i)}}});
    EXPECT_EQ(uses(), "a=0,b=30");
    EXPECT_EQ(window_, 30);
    EXPECT_EQ(get("a/tessera_gpu_compute_use").status, 200);
    const RouteAnswer none = get("cpu/tessera_gpu_compute_use");
    EXPECT_EQ(none.status, 404);
    EXPECT_NE(none.body.find("it needs a GPU share with gpu-cores"), std::string::npos);
    EXPECT_TRUE(counts_.asked.empty());
    EXPECT_EQ(get("d/tessera_gpu_compute_use").status, 404);
    EXPECT_EQ(get("*/tessera_gpu_compute_use", "labelSelector=%3D").status, 400);
    EXPECT_EQ(get("*/cpu").status, 404);
}

// Goal: no agent is asked until a value is wanted, nor some minutes after that; then the values of
// before are forgotten.
TEST_F(CustomMetricsTest, AsksAgentsOnDemand) {
    round({});
    EXPECT_EQ(api_.answer("/apis/custom.metrics.k8s.io/v1beta2", "").status, 200);
    round({});
    EXPECT_EQ(reports_.calls, 0);
    EXPECT_EQ(uses(), "503");
    round({{"n1", {share("u-a", 0)}}});
    EXPECT_EQ(reports_.calls, 1);
    round({{"n1", {share("u-a", 0)}}}, 301);
    EXPECT_EQ(reports_.calls, 1);
    EXPECT_EQ(uses("tessera_gpu_memory_use"), "503");
    round({{"n1", {share("u-a", 0)}}});
    EXPECT_EQ(uses("tessera_gpu_memory_use"), "a=25");
}

// Goal: a node that misses a round keeps its values for a moment, and no value is old.
TEST_F(CustomMetricsTest, OldValues) {
    EXPECT_EQ(uses(), "503");
    round({{"n1", {share("u-a", 0)}}});
    round({{"n1", {share("u-a", 2'500)}}});
    round({{"n1", {}}, {"n2", {share("u-b", 0)}}});
    EXPECT_EQ(uses("tessera_gpu_memory_use"), "a=25,b=25");
    round({{"n2", {share("u-b", 0)}}}, 36);
    EXPECT_EQ(uses("tessera_gpu_memory_use"), "b=25");
    clock_.advance(UseSampler::kOldest + std::chrono::seconds(1));
    EXPECT_EQ(uses("tessera_gpu_memory_use"), "");
    // An agent that restarted counts from 0.
    round({{"n1", {share("u-a", 9'000)}}});
    round({{"n1", {share("u-a", 10)}}});
    EXPECT_EQ(uses(), "");
}

// Goal: requests per second of the pods that count them, over 30 s at most; no others are asked,
// and none when nothing wants to know.
TEST_F(CustomMetricsTest, RequestRates) {
    constexpr const char* kRate = "tessera_serving_requests_per_second";
    const RequestCounter counter{8501, "/metrics", "n"};
    pods_.pods = {{"a", PodUid("u-a"), "10.0.0.1", counter},
                  {"b", PodUid("u-b"), "10.0.0.2", counter},
                  {"no-address", PodUid("u-c"), "", counter},
                  {"no-counter", PodUid("u-d"), "10.0.0.3", {}}};
    const auto later = [&](std::int64_t a, std::int64_t b, int after_s = 10) {
        clock_.advance(std::chrono::seconds(after_s));
        counts_.requests = {{"a", a}, {"b", b}};
        rates_.run_round({});
    };
    later(1, 1);
    EXPECT_TRUE(counts_.asked.empty());
    EXPECT_EQ(uses(kRate), "");
    later(100, 0);
    EXPECT_EQ(counts_.asked, (std::vector<std::string>{"a", "b"}));
    EXPECT_EQ(uses(kRate), "");
    later(150, 0);
    EXPECT_EQ(uses(kRate), "a=5,b=0");
    later(250, 5);
    EXPECT_EQ(uses(kRate), "a=7500m,b=250m");
    for (int i = 0; i < 5; ++i)
        later(250, 5);
    EXPECT_EQ(uses(kRate), "a=0,b=0");
    EXPECT_EQ(window_, 30);
    // A server that was restarted counts from 0.
    later(10, 15);
    EXPECT_EQ(uses(kRate).find("a=0,"), 0U);
    later(20, 15);
    EXPECT_EQ(uses(kRate).find("a=1,"), 0U);
    EXPECT_EQ(get("no-counter/" + std::string(kRate)).status, 404);
    counts_.asked.clear();
    later(20, 15, 121);
    EXPECT_TRUE(counts_.asked.empty());
    EXPECT_EQ(uses(kRate), "");
}

// Goal: the answer says why there are no values.
TEST_F(CustomMetricsTest, SaysWhyThereAreNone) {
    reports_.fault = Error{Code::unsupported, "set agent.listen=true"};
    EXPECT_EQ(uses(), "503");
    round({});
    const RouteAnswer answer = get("*/tessera_gpu_memory_use");
    EXPECT_EQ(answer.status, 501);
    EXPECT_NE(answer.body.find("set agent.listen=true"), std::string::npos);
    reports_.fault.reset();
    round({{"n1", {share("u-a", 0)}}});
    EXPECT_EQ(uses("tessera_gpu_memory_use"), "a=25");
}

}  // namespace
}  // namespace tessera
