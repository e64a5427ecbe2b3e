#include "adapters/kube/kube_client.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>

#include "adapters/kube/scripted_server_test.hpp"
#include "base/mutex.hpp"
#include "testing/builders/builders.hpp"
#include "wire/kube/pod_group_json.hpp"

namespace tessera {
namespace {

std::string pod_json(const std::string& name, const std::string& uid) {
    return R"({"metadata":{"name":")" + name + R"(","namespace":"d","uid":")" + uid +
           R"(","resourceVersion":"9"},"spec":{"containers":[{"name":"c","resources":)"
           R"({"limits":{"aliyun.com/gpu-mem":"1"}}}]}})";
}

// Goal: each status of the API server becomes the code that callers act on, with its own message.
TEST(KubeClient, StatusesBecomeCodes) {
    const std::vector<std::pair<int, Code>> cases = {
        {400, Code::invalid_argument},  {422, Code::invalid_argument}, {401, Code::unauthenticated},
        {403, Code::permission_denied}, {404, Code::not_found},        {409, Code::conflict},
        {410, Code::expired},           {429, Code::unavailable},      {500, Code::unavailable},
        {503, Code::unavailable}};
    for (const auto& [status, code] : cases) {
        ScriptedServer server;
        server.answer("GET /api/v1/namespaces/d/pods/p", status, R"({"message":"because"})");
        KubeClient kube(server.client());
        const auto read = kube.get_pod({"d", "p"});
        ASSERT_FALSE(read) << status;
        EXPECT_EQ(read.error().code, code) << status;
        EXPECT_NE(read.error().text.find("because"), std::string::npos) << read.error().text;
    }
}

// Goal: no server, or one that sends no JSON, is an error with a reason, never a crash.
TEST(KubeClient, NobodyAndRubbish) {
    HttpEndpoint nowhere;
    nowhere.host = "127.0.0.1";
    nowhere.port = 1;
    nowhere.tls = false;
    HttpClient away(nowhere);
    EXPECT_EQ(KubeClient(away).get_pod({"d", "p"}).error().code, Code::unavailable);
    ScriptedServer server;
    server.answer("GET /api/v1/namespaces/d/pods/p", 200, "<html>");
    server.answer("GET /api/v1/nodes", 200, R"({"items":[]})");
    KubeClient kube(server.client());
    EXPECT_FALSE(kube.get_pod({"d", "p"}));
    EXPECT_FALSE(kube.list_nodes()) << "a list without its position is none";
}

// Goal: the calls of a bind end before kube-scheduler's timeout, with a margin: the read of an
// unknown pod, the Binding, and the read that reconciles it.
TEST(KubeClient, BindFitsTheSchedulersPatience) {
    std::ifstream in(TESSERA_SOURCE_DIR "/deploy/chart/tessera/templates/scheduler-config.yaml");
    const std::string config(std::istreambuf_iterator<char>(in), {});
    const std::size_t at = config.find("httpTimeout: ");
    ASSERT_NE(at, std::string::npos);
    const std::chrono::seconds patience(std::stoi(config.substr(at + 13)));
    EXPECT_LE(3 * KubeClient::kOneObject, patience - std::chrono::seconds(3));
}

// Goal: the one write of a bind, to the right path, with the uid and the annotations.
TEST(KubeClient, Bind) {
    ScriptedServer server;
    server.answer("POST /api/v1/namespaces/d/pods/p/binding", 201, R"({"status":"Success"})");
    KubeClient kube(server.client());
    ASSERT_TRUE(kube.bind(PodUid("u"), {"d", "p"}, NodeName("n"), {{"a", "b"}}));
    const auto requests = server.requests();
    ASSERT_EQ(requests.size(), 1U);
    EXPECT_EQ(
        requests[0].body,
        R"({"apiVersion":"v1","kind":"Binding","metadata":{"name":"p","namespace":"d","uid":"u",)"
        R"("annotations":{"a":"b"}},"target":{"apiVersion":"v1","kind":"Node","name":"n"}})");
}

// Goal: lists are read page by page to the end.
TEST(KubeClient, ListsPages) {
    ScriptedServer server;
    server.answer("GET /api/v1/pods", 200,
                  R"({"metadata":{"resourceVersion":"7","continue":"more"},"items":[)" +
                      pod_json("a", "1") + "]}");
    server.answer("GET /api/v1/pods", 200,
                  R"({"metadata":{"resourceVersion":"7"},"items":[)" + pod_json("b", "2") + "]}");
    KubeClient kube(server.client());
    const auto pods = kube.list_pods({});
    ASSERT_TRUE(pods) << pods.error().text;
    ASSERT_EQ(pods->size(), 2U);
    EXPECT_EQ((*pods)[1].uid, PodUid("2"));
}

// Goal: a client with a seal accepts only what it signed, in every call that returns pods.
TEST(KubeClient, SealedAllocations) {
    const auto seal = AllocationSeal::from_keys(std::string(64, 'a'));
    const std::string pod =
        R"({"metadata":{"name":"p","namespace":"d","uid":"1","annotations":)"
        R"({"tessera.dev/allocation":"{}"}},"spec":{"containers":[{"name":"c","resources":)"
        R"({"limits":{"aliyun.com/gpu-mem":"1"}}}]}})";
    const std::string list = R"({"metadata":{"resourceVersion":"7"},"items":[)" + pod + "]}";
    ScriptedServer server;
    server.answer("GET /api/v1/pods", 200, list);
    server.answer("GET /api/v1/namespaces/d/pods/p", 200, pod);
    server.answer("GET /api/v1/pods", 200, list);
    KubeClient kube(server.client(), &*seal);
    const auto is_refused = [](const PodInfo& info) {
        return info.allocation && !*info.allocation &&
               info.allocation->error().code == Code::permission_denied;
    };
    EXPECT_TRUE(is_refused(kube.list_pods({})->at(0)));
    EXPECT_TRUE(is_refused(*kube.get_pod({"d", "p"})));
    std::stop_source stop;
    kube.follow_pods(
        [&](const PodChanges& changes) {
            EXPECT_TRUE(is_refused(changes.upserted.at(0)));
            stop.request_stop();
        },
        [](const Error&) {}, stop.get_token());
}

// Goal: a bookmark is passed on, although it changes nothing, so that a live watch and a dead one
// can be distinguished.
TEST(KubeClient, BookmarksAreHeard) {
    ScriptedServer server;
    server.answer("GET /api/v1/pods", 200, R"({"metadata":{"resourceVersion":"7"},"items":[]})");
    server.answer("GET /api/v1/pods", 200,
                  R"({"type":"BOOKMARK","object":{"metadata":{"resourceVersion":"9"}}})"
                  "\n");
    KubeClient kube(server.client());
    std::stop_source stop;
    std::vector<bool> lists;
    kube.follow_pods(
        [&](const PodChanges& changes) {
            lists.push_back(changes.listed.has_value());
            EXPECT_TRUE(changes.upserted.empty() && changes.deleted.empty());
            if (lists.size() == 2) stop.request_stop();
        },
        [](const Error&) {}, stop.get_token());
    EXPECT_EQ(lists, (std::vector<bool>{true, false}));
}

// Goal: pod groups are found in each version of the API that a server may have.
TEST(KubeClient, PodGroupsOfEachVersion) {
    for (const char* path : kPodGroupsPaths) {
        ScriptedServer server;
        server.answer(fmt::format("GET {}", path), 200,
                      R"({"metadata":{"resourceVersion":"7"},"items":[{"metadata":)"
                      R"({"name":"g","namespace":"d"},"spec":)"
                      R"({"schedulingPolicy":{"gang":{"minCount":3}}}}]})");
        KubeClient kube(server.client());
        std::stop_source stop;
        std::vector<PodGroup> found;
        kube.follow_pod_groups(
            [&](const PodGroupChanges& changes) {
                found = changes.upserted;
                stop.request_stop();
            },
            [](const Error& error) { ADD_FAILURE() << error.text; }, stop.get_token());
        EXPECT_EQ(found, (std::vector<PodGroup>{{{"d", "g"}, 3}})) << path;
    }
}

// Goal: when an upgraded API server has another version of the API, its pod groups are listed.
// Method: the watch of the first version answers 404.
TEST(KubeClient, PodGroupsAfterAnUpgrade) {
    ScriptedServer server;
    const std::string before = fmt::format("GET {}", kPodGroupsPaths.front());
    const std::string empty = R"({"metadata":{"resourceVersion":"7"},"items":[]})";
    server.answer(before, 200, empty);
    server.answer(before, 200, empty);
    server.answer(before, 404, R"({"message":"gone"})");
    server.answer(fmt::format("GET {}", kPodGroupsPaths.back()), 200, empty);
    KubeClient kube(server.client());
    std::stop_source stop;
    int lists = 0;
    kube.follow_pod_groups(
        [&](const PodGroupChanges& changes) {
            if (changes.listed && ++lists == 2) stop.request_stop();
        },
        [](const Error& error) { ADD_FAILURE() << error.text; }, stop.get_token());
    EXPECT_EQ(lists, 2);
}

// Goal: the node is compared with what was published, in any form in which kubelet writes amounts.
TEST(KubeClient, NodeShows) {
    ScriptedServer server;
    server.answer(
        "GET /api/v1/nodes/n", 200,
        R"({"metadata":{"annotations":{"k":"v"},"labels":{"l":"w"}},"status":{"capacity":{"r":"32Gi","s":"1k"}}})");
    KubeClient kube(server.client());
    const NodeName node("n");
    const auto matches = [&](const NodeWanted& wanted) {
        return kube.node_shows(node, wanted)->matches;
    };
    EXPECT_TRUE(matches({.annotations = {{"k", "v"}},
                         .labels = {{"l", "w"}, {"missing", ""}},
                         .amounts = {{"r", "34359738368"}, {"s", "1000"}}}));
    EXPECT_TRUE(matches({}));
    EXPECT_FALSE(matches({.annotations = {{"k", "w"}}}));
    EXPECT_FALSE(matches({.annotations = {{"x", "v"}}}));
    EXPECT_FALSE(matches({.labels = {{"l", "x"}}}));
    EXPECT_FALSE(matches({.labels = {{"l", ""}}}));
    EXPECT_FALSE(matches({.labels = {{"missing", "w"}}}));
    EXPECT_FALSE(matches({.amounts = {{"r", "1"}}}));
    EXPECT_FALSE(matches({.amounts = {{"missing", "1"}}}));
    EXPECT_EQ(kube.node_shows(node, {})->labels, (StringMap{{"l", "w"}}));
    EXPECT_FALSE(kube.node_shows(NodeName("gone"), {}));
}

// Goal: only the taints with the key are removed, and only if the Node's taints are still those
// that were read.
TEST(KubeClient, RemovesTaints) {
    ScriptedServer server;
    server.answer("GET /api/v1/nodes/n", 200,
                  R"({"spec":{"taints":[{"key":"other","effect":"NoSchedule"},)"
                  R"({"key":"k","effect":"NoExecute"}]},"status":{"allocatable":{"r":"64"}}})");
    server.answer("PATCH /api/v1/nodes/n", 422, R"({"message":"the test operation failed"})");
    server.answer("PATCH /api/v1/nodes/n", 200, "{}");
    KubeClient kube(server.client());
    const NodeName node("n");
    const auto seen = kube.tainted_node(node);
    ASSERT_TRUE(seen);
    EXPECT_EQ(seen->taints, (std::vector<std::string>{"other", "k"}));
    EXPECT_EQ(seen->allocatable, (StringMap{{"r", "64"}}));
    EXPECT_EQ(kube.remove_taints(node, *seen, "k").error().code, Code::invalid_argument);
    EXPECT_TRUE(kube.remove_taints(node, *seen, "k"));
    EXPECT_EQ(server.requests().back().body,
              R"([{"op":"test","path":"/spec/taints/1/key","value":"k"},)"
              R"({"op":"remove","path":"/spec/taints/1"}])");
    EXPECT_FALSE(kube.tainted_node(NodeName("gone")));
}

// What a watch delivered, until a condition is true.
template <class Changes>
class Collected {
  public:
    void add(Changes changes) {
        const MutexLock lock(mutex_);
        all_.push_back(std::move(changes));
        changed_.notify_all();
    }
    bool until(const std::function<bool(const std::vector<Changes>&)>& done) {
        MutexLock lock(mutex_);
        return changed_.wait_for(lock, std::chrono::seconds(10), [&] { return done(all_); });
    }
    std::vector<Changes> all() {
        const MutexLock lock(mutex_);
        return all_;
    }

  private:
    Mutex mutex_;
    std::condition_variable_any changed_;
    std::vector<Changes> all_;
};

// Goal: a list, then the events of the watch, in order. An object that was deleted within a batch
// is not among the present ones. A position that is too old causes a new list. Method: a watch that
// sends a batch, then one that answers 410.
TEST(KubeClient, FollowsPods) {
    ScriptedServer server;
    const std::string list = R"({"metadata":{"resourceVersion":"5"},"items":[)" +
                             pod_json("a", "1") + R"(,{"metadata":{"name":"x","uid":"plain"}}]})";
    const std::string path = "GET /api/v1/pods";
    server.answer(path, 200, list);
    server.answer(path, 200,
                  R"({"type":"ADDED","object":)" + pod_json("b", "2") + "}\n" +
                      R"({"type":"MODIFIED","object":)" + pod_json("c", "3") + "}\n" +
                      R"({"type":"DELETED","object":)" + pod_json("c", "3") + "}\n" +
                      R"({"type":"BOOKMARK","object":{"metadata":{"resourceVersion":"12"}}})"
                      "\n");
    server.answer(path, 200,
                  R"({"type":"ERROR","object":{"code":410,"message":"too old"}})"
                  "\n");
    server.answer(path, 200, list);
    server.answer(path, 200,
                  R"({"type":"BOOKMARK","object":{"metadata":{"resourceVersion":"13"}}})"
                  "\n");
    KubeClient kube(server.client());
    Collected<PodChanges> collected;
    Mutex errors_mutex;
    std::vector<Error> errors;
    {
        const std::jthread follower([&](const std::stop_token& stop) {
            kube.follow_pods([&](PodChanges changes) { collected.add(std::move(changes)); },
                             [&](const Error& error) {
                                 const MutexLock lock(errors_mutex);
                                 errors.push_back(error);
                             },
                             stop);
        });
        ASSERT_TRUE(collected.until([](const auto& all) {
            return std::ranges::count_if(all, [](const auto& c) { return c.listed.has_value(); }) ==
                   2;
        }));
    }
    const auto all = collected.all();
    EXPECT_EQ(*all[0].listed, (std::set<PodUid>{PodUid("1"), PodUid("plain")}));
    EXPECT_EQ(all[0].upserted.size(), 1U) << "pods without a GPU request are delivered, too";
    std::vector<PodUid> present;
    std::vector<PodUid> removed;
    for (const PodChanges& changes : all) {
        if (changes.listed) continue;
        for (const PodInfo& pod : changes.upserted)
            present.push_back(pod.uid);
        removed.insert(removed.end(), changes.deleted.begin(), changes.deleted.end());
    }
    EXPECT_EQ(std::ranges::count(present, PodUid("2")), 1);
    EXPECT_EQ(std::ranges::count(removed, PodUid("3")), 1);
    ASSERT_FALSE(errors.empty());
    EXPECT_EQ(errors[0], (Error{Code::expired, "too old"}));
}

}  // namespace
}  // namespace tessera
