#include "app/scheduler/http/routes.hpp"

#include <gtest/gtest.h>

#include <fstream>
#include <future>
#include <map>
#include <thread>

#include "testing/builders/builders.hpp"
#include "testing/fakes/fake_clock.hpp"
#include "testing/fakes/fake_evictions.hpp"
#include "testing/fakes/fake_kube_api.hpp"
#include "testing/fakes/fake_lease_store.hpp"
#include "wire/kube/admission_json.hpp"
#include "wire/kube/kube_objects.hpp"
#include "wire/text/json.hpp"

namespace tessera {
namespace {

// The recorded answers of gpushare's extender, by title.
struct Recorded {
    std::string status;
    std::string location;
    std::string allow;
    std::string content_type;
    std::string body;
};

std::map<std::string, Recorded> recorded() {
    std::ifstream in(TESSERA_SOURCE_DIR "/src/app/scheduler/testdata/gpushare-http.txt");
    EXPECT_TRUE(in);
    std::map<std::string, Recorded> out;
    Recorded* now = nullptr;
    for (std::string line; std::getline(in, line);) {
        const auto after = [&line](std::string_view word) { return line.substr(word.size()); };
        if (line.starts_with("## ")) now = &out[after("## ")];
        if (now == nullptr) continue;
        if (line.starts_with("status ")) now->status = after("status ");
        if (line.starts_with("Location ")) now->location = after("Location ");
        if (line.starts_with("Allow ")) now->allow = after("Allow ");
        if (line.starts_with("Content-Type ")) now->content_type = after("Content-Type ");
        if (line.starts_with("body ")) now->body = after("body ");
    }
    return out;
}

class Routes : public ::testing::Test {
  protected:
    RouteAnswer request(const std::string& method, const std::string& path, std::string body = "") {
        return routes_.answer({method, path, body});
    }
    RouteAnswer post(const std::string& verb, const std::string& body) {
        return request("POST", "/gpushare-scheduler/" + verb, body);
    }
    // The nodes of the recording: n1 2x16, n2 1x16, n3 without GPU, n4 47 on 3, n5 64 without
    // count.
    void add_recorded_nodes() {
        const std::map<std::string, std::string> capacity = {
            {"n1", R"("aliyun.com/gpu-count":"2","aliyun.com/gpu-mem":"32")"},
            {"n2", R"("aliyun.com/gpu-count":"1","aliyun.com/gpu-mem":"16")"},
            {"n3", R"("cpu":"64")"},
            {"n4", R"("aliyun.com/gpu-count":"3","aliyun.com/gpu-mem":"47")"},
            {"n5", R"("aliyun.com/gpu-mem":"64")"}};
        for (const auto& [name, amounts] : capacity) {
            const auto document =
                JsonDocument::parse(R"({"metadata":{"name":")" + name +
                                    R"("},"status":{"capacity":{)" + amounts + "}}}");
            add(read_node(document->root()));
        }
    }
    void add(const NodeInventory& node) {
        cache_.post([node](ClusterState& state) { state.set_node(node); });
        sync_cache();
    }
    void sync_cache() {
        for (int i = 0; i < 2; ++i)
            cache_.call([](ClusterState&) { return 0; });
    }
    static std::string filter_body(const std::string& quantity, const std::string& names,
                                   const std::string& list = "containers") {
        return R"({"Pod":{"metadata":{"name":"p","namespace":"default","uid":"uid-p"},"spec":{")" +
               list + R"(":[{"name":"main","resources":{"limits":{"aliyun.com/gpu-mem":")" +
               quantity + R"("}}}]}},"Nodes":null,"NodeNames":[)" + names + "]}";
    }

    FakeKubeApi kube_;
    ClusterCache cache_;
    FakeClock clock_;
    Scheduler scheduler_{kube_, cache_, clock_, {}};
    SchedulerMetrics metrics_{clock_};
    std::atomic<bool> synced_ = true;
    SchedulerRoutes routes_{scheduler_, cache_, metrics_, synced_};
};

// Goal: a pod that requests GPUs is refused in a namespace whose budget is spent and denies new
// pods. Others are not: other namespaces, and pods without GPUs. The metrics show the budget.
TEST_F(Routes, ASpentBudgetDeniesNewPods) {
    BudgetTable table;
    BudgetVerdict verdict{.period = {0, 60}, .granted = gpu_hours(2), .used = gpu_hours(3)};
    verdict.is_spent = true;
    table.replace({{"team", {.budget = "b", .when_spent = WhenSpent::deny_new, .verdict = verdict}},
                   {"free", {.budget = "b", .when_spent = WhenSpent::none, .verdict = verdict}}});
    const Admission admission{.rules = {}, .budgets = &table};
    SchedulerRoutes routes(scheduler_, cache_, metrics_, synced_, nullptr, nullptr,
                           SchedulerRoutes::kOwnerBound, &admission);
    const auto answer = [&](const std::string& ns, const std::string& limits) {
        std::string review =
            R"({"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","request":{"uid":"u",)"
            R"("namespace":")" +
            ns +
            R"(","kind":{"kind":"Pod"},"operation":"CREATE","object":{"spec":{"containers":[)"
            R"({"name":"m","resources":{"limits":)" +
            limits + R"(}}]}}}})";
        return routes.answer({"POST", "/webhook/admit", review}).body;
    };
    const std::string gpus = R"({"aliyun.com/gpu-mem":"3"})";
    const std::string denied = answer("team", gpus);
    EXPECT_NE(denied.find("the GpuBudget b of the namespace team is spent"), std::string::npos)
        << denied;
    for (const std::string& text :
         {answer("team", R"({"cpu":"1"})"), answer("free", gpus), answer("x", gpus)})
        EXPECT_NE(text.find(R"("allowed":true)"), std::string::npos) << text;
    std::string body;
    const std::string text = routes.answer({"GET", "/metrics", body}).body;
    EXPECT_NE(text.find(R"(tessera_budget_used_gpu_seconds{budget="b",namespace="team"} 10800)"),
              std::string::npos)
        << text;
}

// Goal: the webhook answers a review by the rules, before the first list too. A body that is no
// review is refused, so the API server follows the webhook's failure policy.
TEST_F(Routes, Admission) {
    synced_ = false;
    const Admission rules{.rules = {.scheduler = "tessera-scheduler"}};
    SchedulerRoutes routes(scheduler_, cache_, metrics_, synced_, nullptr, nullptr,
                           SchedulerRoutes::kOwnerBound, &rules);
    const auto post = [](SchedulerRoutes& to, std::string body) {
        return to.answer({"POST", "/webhook/admit", body});
    };
    const std::string review =
        R"({"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","request":{"uid":"u",)"
        R"("kind":{"kind":"Pod"},"operation":"CREATE","object":{"spec":{"containers":[)"
        R"({"name":"m","resources":{"limits":{"aliyun.com/gpu-mem":"3"}}}]}}}})";
    const RouteAnswer answer = post(routes, review);
    EXPECT_EQ(answer.status, 200);
    EXPECT_EQ(answer.body, write_admission_answer({"admission.k8s.io/v1", "u"},
                                                  PodEdits{.scheduler = "tessera-scheduler"}));
    std::string job = review;
    job.replace(job.find("Pod"), 3, "Job");
    job.replace(job.find("{\"spec\""), 0, "{\"spec\":{\"template\":");
    job += "}}";
    EXPECT_EQ(post(routes, job).body,
              write_admission_answer({"admission.k8s.io/v1", "u"}, PodEdits{}))
        << "only pods are changed";
    std::string wrong = review;
    wrong.replace(wrong.find("\"3\""), 3, "\"x\"");
    const RouteAnswer denied = post(routes, wrong);
    EXPECT_EQ(denied.status, 200);
    EXPECT_NE(denied.body.find("\"allowed\":false"), std::string::npos) << denied.body;
    EXPECT_NE(denied.body.find("aliyun.com/gpu-mem"), std::string::npos) << denied.body;
    for (const char* body : {"", "{", "[]", R"({"kind":"AdmissionReview"})"}) {
        const RouteAnswer refused = post(routes, body);
        EXPECT_EQ(refused.status, 400) << body;
        EXPECT_TRUE(refused.failed);
    }
    EXPECT_EQ(post(routes_, review).status, 404) << "it is not configured";
}

// Goal: we answer what gpushare answered, except for the deviations of docs/compat/gpushare.md.
// Method: the recording; status, type, Location, Allow and body byte for byte.
TEST_F(Routes, AnswersAsRecorded) {
    struct Case {
        const char* title;
        const char* method;
        const char* path;
        std::string body;
    };
    const auto golden = recorded();
    const auto check = [&](const Case& c) {
        ASSERT_TRUE(golden.contains(c.title)) << c.title;
        const Recorded& expected = golden.at(c.title);
        const RouteAnswer answer = request(c.method, c.path, c.body);
        EXPECT_EQ(std::to_string(answer.status), expected.status) << c.title;
        EXPECT_EQ(answer.location, expected.location) << c.title;
        EXPECT_EQ(answer.allow, expected.allow) << c.title;
        if (answer.status >= 300 && answer.status < 400) return;  // redirects: we send no body
        EXPECT_EQ(answer.content_type, expected.content_type) << c.title;
        std::string body = answer.body;
        if (body.ends_with('\n')) body.pop_back();
        EXPECT_EQ(body, expected.body) << c.title;
    };
    check({"inspect empty", "GET", "/gpushare-scheduler/inspect", ""});
    add_recorded_nodes();
    const std::string verb = "/gpushare-scheduler/filter";
    const std::vector<Case> cases = {
        {"version", "GET", "/version", ""},
        {"version/", "GET", "/version/", ""},
        {"inspect/", "GET", "/gpushare-scheduler/inspect/", ""},
        {"filter neither", "POST", verb.c_str(), R"({"Pod":{"metadata":{"name":"p"}}})"},
        {"filter nil pod", "POST", verb.c_str(), R"({"Pod":null,"NodeNames":["n1"]})"},
        {"filter empty body", "POST", verb.c_str(), ""},
        {"filter GET", "GET", verb.c_str(), ""},
        {"filter trailing slash", "POST", "/gpushare-scheduler/filter/", "{}"},
        {"notfound", "GET", "/gpushare-scheduler/nothing", ""},
        {"root", "GET", "/", ""},
        {"inspect n1", "GET", "/gpushare-scheduler/inspect/n1", ""},
        {"inspect n3", "GET", "/gpushare-scheduler/inspect/n3", ""},
    };
    for (const Case& c : cases)
        check(c);
}

std::vector<std::string> texts(JsonValue list) {
    std::vector<std::string> out;
    for (const JsonValue item : list.elements())
        out.push_back(item.text_or(""));
    return out;
}

// Goal: the same nodes fit as recorded, and a reason begins with gpushare's. Method: the recorded
// requests; a node that can never take the pod is in the other list (docs/compat/gpushare.md).
TEST_F(Routes, FiltersAsRecorded) {
    add_recorded_nodes();
    struct Case {
        const char* title;
        std::string body;
    };
    const std::vector<Case> cases = {
        {"filter req 17 (n1 is 2x16)", filter_body("17", R"("n1","n2","n4")")},
        {"filter req init only", filter_body("4", R"("n1")", "initContainers")},
    };
    const auto golden = recorded();
    for (const Case& c : cases) {
        const auto expected = JsonDocument::parse(golden.at(c.title).body);
        const RouteAnswer answer = post("filter", c.body);
        EXPECT_EQ(answer.status, 200);
        const auto ours = JsonDocument::parse(answer.body);
        ASSERT_TRUE(expected && ours) << c.title;
        EXPECT_EQ(texts(ours->root()["NodeNames"]), texts(expected->root()["NodeNames"]))
            << c.title;
        EXPECT_EQ(ours->root()["Error"].text(), "");
        std::size_t reasons = 0;
        for (const auto& [node, reason] : expected->root()["FailedNodes"].members()) {
            JsonValue found = ours->root()["FailedNodes"][node];
            if (!found.present()) found = ours->root()["FailedAndUnresolvableNodes"][node];
            EXPECT_TRUE(found.text_or("").starts_with(reason.text_or("?"))) << c.title << node;
            ++reasons;
        }
        EXPECT_EQ(ours->root()["FailedNodes"].members().size() +
                      ours->root()["FailedAndUnresolvableNodes"].members().size(),
                  reasons);
    }
}

// Goal: every deviation from the recording is one that docs/compat/gpushare.md lists.
TEST_F(Routes, DeviationsFromTheRecording) {
    add_recorded_nodes();
    const auto golden = recorded();
    // The text of a JSON error is the parser's.
    EXPECT_TRUE(golden.at("filter bad json").body.find("invalid character") != std::string::npos);
    const RouteAnswer bad = post("filter", "{bad");
    EXPECT_EQ(bad.status, 200);
    EXPECT_NE(bad.body.find(R"("Error":"not JSON: )"), std::string::npos);
    // A request of 0 fits everywhere, not only on nodes with GPUs.
    EXPECT_NE(golden.at("filter req 0").body.find(R"("NodeNames":["n1"])"), std::string::npos);
    EXPECT_NE(
        post("filter", filter_body("0", R"("n1","n3")")).body.find(R"("NodeNames":["n1","n3"])"),
        std::string::npos);
    // Node objects are not returned for a request with names.
    EXPECT_TRUE(post("filter", filter_body("4", R"("n1")")).body.starts_with(R"({"Nodes":null,)"));
    // Nodes without GPUs are not in the list of all nodes, and the order is by name.
    const RouteAnswer all = request("GET", "/gpushare-scheduler/inspect");
    const auto ours = JsonDocument::parse(all.body);
    std::map<std::string, JsonValue> by_name;
    std::vector<std::string> order;
    for (const JsonValue node : ours->root()["nodes"].elements()) {
        order.push_back(node["name"].text_or(""));
        by_name.emplace(order.back(), node);
    }
    EXPECT_EQ(order, (std::vector<std::string>{"n1", "n2", "n4"}));
    const auto expected = JsonDocument::parse(golden.at("inspect all").body);
    for (const JsonValue node : expected->root()["nodes"].elements()) {
        const auto at = by_name.find(node["name"].text_or(""));
        if (at == by_name.end()) {
            EXPECT_TRUE(node["devs"].elements().empty());
            continue;
        }
        EXPECT_EQ(at->second["totalGPU"].integer(), node["totalGPU"].integer());
        EXPECT_EQ(at->second["devs"].elements().size(), node["devs"].elements().size());
    }
    // An unknown node has an answer; gpushare's handler panicked.
    EXPECT_EQ(golden.at("inspect unknown").status, "none");
    const RouteAnswer unknown = request("GET", "/gpushare-scheduler/inspect/nosuch");
    EXPECT_EQ(unknown.status, 404);
    EXPECT_EQ(unknown.body, R"({"nodes":[],"error":"node \"nosuch\" not found"})");
    // Routes that gpushare did not have.
    for (const char* title : {"healthz", "metrics", "prioritize"})
        EXPECT_EQ(golden.at(title).status, "404");
    EXPECT_EQ(request("GET", "/healthz").status, 200);
    EXPECT_EQ(request("GET", "/metrics").status, 200);
    EXPECT_EQ(post("prioritize", filter_body("4", R"("n1")")).body,
              R"([{"Host":"n1","Score":10}])");
    EXPECT_EQ(request("GET", "/debug/pprof/").status, 404);
}

// Goal: full Node objects come back unchanged, those that fit.
TEST_F(Routes, FullObjectsAreEchoed) {
    add_recorded_nodes();
    const std::string n1 = R"({"metadata":{"name":"n1","x":[1.0]},"spec":{}})";
    const std::string n3 = R"({"metadata":{"name":"n3"}})";
    const std::string body =
        R"({"Pod":{"spec":{"containers":[{"name":"a","resources":{"limits":{"aliyun.com/gpu-mem":"4"}}}]}},)"
        R"("Nodes":{"metadata":{},"items":[)" +
        n3 + "," + n1 + R"(]},"NodeNames":null})";
    EXPECT_EQ(post("filter", body).body,
              R"({"Nodes":{"metadata":{},"items":[)" + n1 +
                  R"(]},"NodeNames":["n1"],"FailedNodes":{},"FailedAndUnresolvableNodes":)"
                  R"({"n3":"The node n3 is not for GPU share, need skip"},"Error":""})");
}

// Goal: with full objects and none that fits, the list is empty; gpushare's was null.
TEST_F(Routes, FullObjectsOfWhichNoneFits) {
    add_recorded_nodes();
    const std::string body =
        R"({"Pod":{"spec":{"containers":[{"name":"a","resources":{"limits":{"aliyun.com/gpu-mem":"17"}}}]}},)"
        R"("Nodes":{"metadata":{},"items":[{"metadata":{"name":"n2"}}]},"NodeNames":null})";
    EXPECT_TRUE(post("filter", body)
                    .body.starts_with(
                        R"({"Nodes":{"metadata":{},"items":[]},"NodeNames":[],"FailedNodes":{},)"
                        R"("FailedAndUnresolvableNodes":{"n2":"Insufficient GPU Memory in one)"));
}

// Goal: a node without GPUs has an empty answer when asked for by name; gpushare showed a sum that
// is on no GPU. A node that is gone has no answer, and is in no list.
TEST_F(Routes, InspectByName) {
    add_recorded_nodes();
    EXPECT_EQ(request("GET", "/gpushare-scheduler/inspect/n5").body,
              R"({"nodes":[{"name":"n5","totalGPU":0,"usedGPU":0,"devs":[]}]})");
    cache_.post([](ClusterState& state) { state.remove_node(NodeName("n1")); });
    sync_cache();
    EXPECT_EQ(request("GET", "/gpushare-scheduler/inspect/n1").status, 404);
    const std::string all = request("GET", "/gpushare-scheduler/inspect").body;
    EXPECT_EQ(all.find(R"("name":"n1")"), std::string::npos);
    EXPECT_NE(all.find(R"("name":"n2")"), std::string::npos);
}

// Goal: bind answers 200 with a text in any case, because kube-scheduler discards the body of any
// other answer. The metrics still count it as an error.
TEST_F(Routes, BindAnswersWithItsReason) {
    add_recorded_nodes();
    kube_.put_pod(build::pod("p", build::aliyun(8)));
    kube_.put_pod(build::pod("large", build::aliyun(17)));
    const auto body = [](const std::string& name) {
        return R"({"PodName":")" + name + R"(","PodNamespace":"default","PodUID":"uid-)" + name +
               R"(","Node":"n1"})";
    };
    RouteAnswer answer = post("bind", body("p"));
    EXPECT_EQ(answer.status, 200);
    EXPECT_EQ(answer.body, R"({"Error":""})");
    EXPECT_FALSE(answer.failed);
    answer = post("bind", body("large"));
    EXPECT_EQ(answer.status, 200);
    EXPECT_TRUE(answer.body.starts_with(R"({"Error":"Insufficient GPU Memory in one device)"));
    EXPECT_TRUE(answer.failed);
    answer = post("bind", "{}");
    EXPECT_EQ(answer.body, R"({"Error":"PodName: missing"})");
    EXPECT_TRUE(answer.failed);
    EXPECT_EQ(post("bind", "").body, R"({"Error":"EOF"})");
    const std::string metrics = request("GET", "/metrics").body;
    EXPECT_NE(metrics.find(R"(tessera_extender_errors_total{verb="bind"} 3)"), std::string::npos);
    EXPECT_NE(metrics.find(R"(tessera_extender_request_seconds_count{verb="bind"} 4)"),
              std::string::npos);
    const std::string inspect = request("GET", "/gpushare-scheduler/inspect/n1").body;
    EXPECT_NE(inspect.find(R"({"name":"p","namespace":"default","usedGPU":8})"), std::string::npos);
}

// Goal: a cache that hangs fails the probe, and the probe itself does not wait for it. One that
// answers again passes.
TEST_F(Routes, ACacheThatHangsIsNotHealthy) {
    SchedulerRoutes routes(scheduler_, cache_, metrics_, synced_, nullptr, nullptr,
                           std::chrono::nanoseconds(1));
    std::string none;
    const auto probe = [&] { return routes.answer({"GET", "/healthz", none}); };
    std::promise<void> begun;
    std::promise<void> goes_on;
    cache_.post([&](ClusterState&) {
        begun.set_value();
        goes_on.get_future().wait();
    });
    begun.get_future().wait();
    const RouteAnswer hung = probe();
    EXPECT_EQ(hung.status, 503);
    EXPECT_NE(hung.body.find("has not answered for"), std::string::npos);
    EXPECT_EQ(request("GET", "/healthz").status, 200) << "the usual bound has not passed";
    goes_on.set_value();
    while (cache_.unanswered_for())
        std::this_thread::yield();
    sync_cache();
    while (probe().status != 200)
        std::this_thread::yield();
}

// Goal: before the cluster is known nothing is decided, and both probes answer correctly.
TEST_F(Routes, WhileStarting) {
    add_recorded_nodes();
    synced_ = false;
    EXPECT_EQ(request("GET", "/healthz").status, 200);
    EXPECT_EQ(request("GET", "/readyz").status, 503);
    const RouteAnswer filter = post("filter", filter_body("4", R"("n1")"));
    EXPECT_EQ(filter.status, 200);
    EXPECT_NE(filter.body.find("is starting"), std::string::npos);
    EXPECT_NE(filter.body.find(R"("NodeNames":null)"), std::string::npos);
    const RouteAnswer bind =
        post("bind", R"({"PodName":"p","PodNamespace":"d","PodUID":"u","Node":"n1"})");
    EXPECT_NE(bind.body.find("is starting"), std::string::npos);
    EXPECT_TRUE(kube_.bindings().empty());
    synced_ = true;
    EXPECT_EQ(request("GET", "/readyz").status, 200);
    EXPECT_EQ(request("GET", "/readyz").body, "ok\n");
}

// Goal: a controller that does not lead answers filter and inspect, and sends a bind on to the
// leader. Without a leader it says so. /metrics shows which replica leads.
TEST_F(Routes, SendsBindsToTheLeader) {
    add_recorded_nodes();
    FakeLeaseStore store;
    store.edit({});
    Election leader(store, clock_, {.identity = "a", .url = "https://192.0.2.1:12345"},
                    [&](int term) { leader.begin_term(term); });
    Election other(store, clock_, {.identity = "b", .url = "https://192.0.2.2:12345"}, [](int) {});
    SchedulerRoutes routes(scheduler_, cache_, metrics_, synced_, &other);
    const auto call_other = [&](std::string path, std::string body) {
        return routes.answer({body.empty() ? "GET" : "POST", path, body});
    };
    const std::string bind = R"({"PodName":"p","PodNamespace":"d","PodUID":"u","Node":"n1"})";
    leader.step();
    other.step();
    const RouteAnswer sent_on = call_other("/gpushare-scheduler/bind", bind);
    EXPECT_EQ(sent_on.status, 307);
    EXPECT_EQ(sent_on.location, "https://192.0.2.1:12345/gpushare-scheduler/bind");
    EXPECT_EQ(call_other("/gpushare-scheduler/inspect", "").status, 200);
    EXPECT_NE(call_other("/gpushare-scheduler/filter", filter_body("4", R"("n1")"))
                  .body.find(R"("NodeNames":["n1"])"),
              std::string::npos);
    EXPECT_NE(call_other("/metrics", "").body.find("tessera_leading 0"), std::string::npos);
    EXPECT_NE(request("GET", "/metrics").body.find("tessera_leading 1"), std::string::npos);
    leader.give_back();
    other.step();  // elected; its term has not begun
    EXPECT_EQ(call_other("/gpushare-scheduler/bind", bind).status, 200);
    EXPECT_TRUE(kube_.bindings().empty());
}

// Goal: only the leader evicts, so only the leader refuses a pod for which that might help. Any
// replica answers for a pod that fits, or that has no pod of lower priority below it.
TEST_F(Routes, SendsRefusalsToWhoCanEvict) {
    add(build::node("a", 1, gibibytes(16)));
    PodInfo low = build::pod("low", build::native(gibibytes(16)));
    low.priority = 1;
    low = build::bound(
        low, build::allocation(low, "a", {{GpuUuid("GPU-a-0"), 0, gibibytes(16), {}, false}}));
    cache_.call([&](ClusterState& state) { return state.set_pod(low); });
    sync_cache();
    FakeLeaseStore store;
    store.edit({});
    Election leader(store, clock_, {.identity = "a", .url = "https://192.0.2.1:12345"},
                    [&](int term) { leader.begin_term(term); });
    Election other(store, clock_, {.identity = "b", .url = "https://192.0.2.2:12345"}, [](int) {});
    leader.step();
    other.step();
    FakeEvictions evictions;
    SelfPreemption preemption({evictions, cache_, metrics_, clock_, {}});
    SchedulerRoutes of_leader(scheduler_, cache_, metrics_, synced_, &leader, &preemption);
    SchedulerRoutes of_other(scheduler_, cache_, metrics_, synced_, &other, &preemption);
    const auto filter = [&](SchedulerRoutes& routes, const std::string& priority) {
        std::string body = filter_body("4", R"("a")");
        body.insert(body.find(R"("containers")"), R"("priority":)" + priority + ",");
        return routes.answer({"POST", "/gpushare-scheduler/filter", body});
    };
    const auto counted = [&] { return scheduler_.waiting({PodUid("uid-p")}).not_refused == 0; };
    const RouteAnswer sent_on = filter(of_other, "2");
    EXPECT_EQ(sent_on.status, 307);
    EXPECT_EQ(sent_on.location, "https://192.0.2.1:12345/gpushare-scheduler/filter");
    EXPECT_FALSE(counted()) << "the leader counts it";
    EXPECT_EQ(filter(of_other, "1").status, 200);
    EXPECT_TRUE(counted());
    const auto evicted_later = [&] {
        clock_.advance(UnschedulablePods::kPatience);
        preemption.run_round();
        return !evictions.writes().empty();
    };
    cache_.call([](ClusterState& state) {
        PodInfo pod = build::pod("p", build::aliyun(4));
        pod.priority = 2;
        return state.set_pod(pod);
    });
    EXPECT_FALSE(evicted_later()) << "the other replica sent this one on";
    EXPECT_EQ(filter(of_leader, "2").status, 200);
    EXPECT_TRUE(evicted_later());
}

// Goal: the leader keeps the reservations of a gang, so it answers its pods' filters.
TEST_F(Routes, SendsGangsToTheLeader) {
    add(build::node("a", 1, gibibytes(16)));
    FakeLeaseStore store;
    store.edit({});
    Election leader(store, clock_, {.identity = "a", .url = "https://192.0.2.1:12345"},
                    [&](int term) { leader.begin_term(term); });
    Election other(store, clock_, {.identity = "b", .url = "https://192.0.2.2:12345"}, [](int) {});
    leader.step();
    other.step();
    SchedulerRoutes of_leader(scheduler_, cache_, metrics_, synced_, &leader);
    SchedulerRoutes of_other(scheduler_, cache_, metrics_, synced_, &other);
    const auto filter = [&](SchedulerRoutes& routes) {
        std::string body = filter_body("4", R"("a")");
        const std::string_view metadata = R"("metadata":{)";
        body.insert(body.find(metadata) + metadata.size(),
                    R"("annotations":{"tessera.dev/gang":"g","tessera.dev/gang-size":"2"},)");
        return routes.answer({"POST", "/gpushare-scheduler/filter", body});
    };
    const RouteAnswer sent_on = filter(of_other);
    EXPECT_EQ(sent_on.status, 307);
    EXPECT_EQ(sent_on.location, "https://192.0.2.1:12345/gpushare-scheduler/filter");
    EXPECT_NE(filter(of_leader).body.find("gang g waits for its pods: 0 of 2 are there"),
              std::string::npos);
}

// Goal: only the leader knows which reservations are ahead of their turn, so it answers all filters
// and preemptions if pods are nominated ahead.
TEST_F(Routes, SendsFiltersAndPreemptionsToTheLeaderThatNominates) {
    add(build::node("a", 1, gibibytes(16)));
    FakeLeaseStore store;
    store.edit({});
    Election leader(store, clock_, {.identity = "a", .url = "https://192.0.2.1:12345"},
                    [&](int term) { leader.begin_term(term); });
    Election other(store, clock_, {.identity = "b", .url = "https://192.0.2.2:12345"}, [](int) {});
    leader.step();
    other.step();
    FakeEvictions api;
    const auto post = [&](const char* verb, const Election& election,
                          const std::vector<std::string>& nominate) {
        Nominator nominator({.nominations = api,
                             .cache = cache_,
                             .metrics = metrics_,
                             .clock = clock_,
                             .fence = {},
                             .schedulers = nominate,
                             .writers = 0});
        SchedulerRoutes routes(scheduler_, cache_, metrics_, synced_, &election, nullptr,
                               SchedulerRoutes::kOwnerBound, nullptr, &nominator);
        const bool is_filter = std::string_view(verb) == "filter";
        std::string body = is_filter
                               ? filter_body("4", R"("a")")
                               : R"({"Pod":{"metadata":{"name":"p","namespace":"s","uid":"u"}},)"
                                 R"("NodeNameToMetaVictims":{}})";
        const std::string path = std::string("/gpushare-scheduler/") + verb;
        return routes.answer({"POST", path, body}).status;
    };
    for (const char* verb : {"filter", "preempt"}) {
        EXPECT_EQ(post(verb, other, {"default-scheduler"}), 307) << verb;
        EXPECT_EQ(post(verb, leader, {"default-scheduler"}), 200) << verb;
        EXPECT_EQ(post(verb, other, {}), 200) << verb;
    }
}

// Goal: errors of prioritize are HTTP errors: kube-scheduler ignores these failures, the log does
// not.
TEST_F(Routes, PrioritizeErrors) {
    const RouteAnswer answer = post("prioritize", "{bad");
    EXPECT_EQ(answer.status, 400);
    EXPECT_TRUE(answer.failed);
    EXPECT_TRUE(answer.body.starts_with(R"({"error":"not JSON)"));
}

// Goal: no part of a foreign path appears in a redirect, and no method reaches another method's
// route.
TEST_F(Routes, PathsAndMethods) {
    for (const char* path :
         {"//elsewhere.example/", "//", "/nothing/", "/debug/pprof/", "", "/gpushare-scheduler/",
          "/gpushare-scheduler/inspectors/", "/gpushare-scheduler/inspect/a\r\nSet-Cookie: b/",
          "/gpushare-scheduler/inspect/a b/"}) {
        const RouteAnswer answer = request("GET", path);
        EXPECT_EQ(answer.status, 404) << path;
        EXPECT_EQ(answer.location, "") << path;
    }
    EXPECT_EQ(request("GET", "/gpushare-scheduler/inspect/n1/").location,
              "/gpushare-scheduler/inspect/n1");
    EXPECT_EQ(request("POST", "/gpushare-scheduler/bind/").status, 307);
    EXPECT_EQ(request("PUT", "/gpushare-scheduler/bind").status, 405);
    EXPECT_EQ(request("OPTIONS", "/gpushare-scheduler/bind").status, 405);
    EXPECT_EQ(request("OPTIONS", "/version").status, 404);
    EXPECT_EQ(request("HEAD", "/version").status, 404);
    EXPECT_EQ(request("GET", "/version/").body, "") << "gpushare's redirects had HTML";
    EXPECT_EQ(request("POST", "/metrics").status, 404);
    EXPECT_EQ(request("DELETE", "/version").status, 404);
}

}  // namespace
}  // namespace tessera
