#include "app/workload/traffic_split.hpp"

#include <gtest/gtest.h>

#include "testing/fakes/fake_servings.hpp"
#include "testing/fakes/fake_traffic_splits.hpp"

namespace tessera {
namespace {

using workload::GatewayName;
using workload::ServingStatus;
using workload::ServingType;

class TrafficSplitTest : public ::testing::Test {
  protected:
    TrafficSplitTest() {
        for (const char* version : {"v1", "v2", "v3"})
            add(version);
        servings_.jobs.back().in_split = false;
    }
    ServingStatus& add(const std::string& version, ServingType type = ServingType::tensorflow) {
        ServingStatus job;
        job.id = {"half", version, type};
        job.ns = "team";
        job.object = job.id.object();
        job.uid = "uid-" + job.object;
        job.desired = job.available = 1;
        job.in_split = true;
        job.has_service = true;
        job.ports = {{"grpc-serving", 8500}, {"http-serving", 8501}};
        servings_.jobs.push_back(job);
        return servings_.jobs.back();
    }
    static SplitRequest request(const std::vector<std::string>& weights) {
        SplitRequest out;
        out.ns = "team";
        out.name = "half";
        out.weights = workload::parse_weights(weights).value();
        return out;
    }
    // The error's text; empty: none.
    std::string split(const SplitRequest& wanted) {
        printed_.clear();
        const auto done = split_traffic(servings_, splits_, wanted,
                                        [&](const std::string& line) { printed_.push_back(line); });
        return done ? "" : done.error().text;
    }

    FakeServings servings_;
    FakeTrafficSplits splits_;
    std::vector<std::string> printed_;
};

// Goal: with a Gateway a route has the weights, and belongs to all versions.
TEST_F(TrafficSplitTest, ByAGateway) {
    splits_.all = std::vector<GatewayName>{{"infra", "web"}};
    SplitRequest first = request({"v1:30", "v2:70", "v3:0"});
    first.gateway = GatewayName{"infra", "web"};
    EXPECT_EQ(split(first), "");
    const auto& route = *splits_.made_route;
    EXPECT_EQ(route.gateway, (GatewayName{"infra", "web"}));
    EXPECT_EQ(route.hostname, "half.team");
    EXPECT_EQ(route.owners.size(), 3U);
    EXPECT_EQ(route.backends,
              (std::vector<workload::RouteBackend>{{"half-v1-tensorflow-serving", 8501, 30},
                                                   {"half-v2-tensorflow-serving", 8501, 70}}));
    EXPECT_EQ(printed_.front(), "httproute.gateway.networking.k8s.io/half created");
    EXPECT_TRUE(splits_.parts.empty());
    EXPECT_EQ(split(request({"v1:30", "v2:70"})), "");
    EXPECT_EQ(printed_.front(), "httproute.gateway.networking.k8s.io/half unchanged");
    // Gateway and host name of the route stay, also if there are more Gateways now.
    splits_.made_route->hostname = "models.example.com";
    splits_.all = std::vector<GatewayName>{{"a", "a"}, {"infra", "web"}};
    EXPECT_EQ(split(request({"v2"})), "");
    EXPECT_EQ(splits_.made_route->hostname, "models.example.com");
    EXPECT_EQ(splits_.made_route->gateway.name, "web");
    EXPECT_EQ(splits_.made_route->backends.size(), 1U);
    EXPECT_FALSE(splits_.written);
}

TEST_F(TrafficSplitTest, ChoiceOfAGateway) {
    splits_.all = std::vector<GatewayName>{{"infra", "a"}, {"infra", "b"}};
    // A Gateway may serve other networks: none is used unless it is named.
    EXPECT_EQ(split(request({"v1"})), "");
    EXPECT_TRUE(splits_.written && !splits_.made_route);
    SplitRequest named = request({"v1"});
    named.gateway = GatewayName{"team", "a"};
    EXPECT_EQ(split(named),
              "--gateway: there is no Gateway a in namespace team; you can see: a/infra, "
              "b/infra");
    named.gateway->ns = "infra";
    named.scale = true;
    EXPECT_TRUE(split(named).starts_with("--scale: cannot be used with an HTTPRoute"));
    named.scale = false;
    named.hostname = "";
    EXPECT_EQ(split(named), "");
    EXPECT_EQ(splits_.made_route->hostname, "");
    splits_.all = fail(Code::not_found, "no such API");
    EXPECT_TRUE(split(named).starts_with("--gateway: the cluster has no Gateway API"));
    splits_.all = fail(Code::permission_denied, "no");
    EXPECT_EQ(split(named), "");
}

// Goal: without a Gateway the numbers of pods decide, and change only with --scale.
TEST_F(TrafficSplitTest, ByReplicas) {
    splits_.all = fail(Code::not_found, "no such API");
    EXPECT_EQ(split(request({"v1:25", "v2:75"})),
              "-v: v1, v2 have 1:1 pods, which splits the connections 50:50, and not 25:75; use "
              "--scale to change them to 1:3 pods, which each take GPUs, or tessera serve update "
              "--replicas");
    EXPECT_FALSE(splits_.written);
    SplitRequest scaled = request({"v1:25", "v2:75"});
    scaled.scale = true;
    EXPECT_EQ(split(scaled), "");
    EXPECT_EQ(splits_.parts, std::vector<std::string>{"v2 in 3"});
    EXPECT_EQ(splits_.written->weights, "v1:25,v2:75");
    EXPECT_EQ(splits_.written->ports.size(), 2U);
    EXPECT_EQ(splits_.written->owners.size(), 3U);
    EXPECT_EQ(printed_.front(), "service/half created");
    // A version without a part is taken out, and its number of pods stays.
    splits_.parts.clear();
    EXPECT_EQ(split(request({"v1:0", "v3:100"})), "");
    EXPECT_EQ(splits_.parts, (std::vector<std::string>{"v3 in", "v1 out", "v2 out"}));
    EXPECT_EQ(printed_.front(), "service/half updated");
    splits_.other_weights = "v2:100";
    EXPECT_TRUE(split(request({"v1"})).starts_with("another command split the traffic of half"));
}

TEST_F(TrafficSplitTest, Mistakes) {
    EXPECT_EQ(split(request({"v1:30", "v9:70"})),
              "-v: half has no version \"v9\"; it has v1, v2, v3");
    SplitRequest other = request({"v1"});
    other.name = "none";
    EXPECT_TRUE(split(other).starts_with("--name: there is no serving job none in namespace team"));
    other = request({"v1"});
    other.hostname = "a";
    EXPECT_TRUE(split(other).starts_with("--hostname: needs a Gateway"));
    servings_.jobs[1].ports.pop_back();
    EXPECT_TRUE(split(request({"v1:50", "v2:50"}))
                    .starts_with("-v: versions v1 and v2 have different ports"));
    splits_.all = std::vector<GatewayName>{{"infra", "web"}};
    other = request({"v2"});
    other.gateway = GatewayName{"infra", "web"};
    EXPECT_TRUE(split(other).starts_with("-v: version v2 has no REST port"));
    servings_.jobs[0].has_service = false;
    EXPECT_TRUE(split(request({"v1"})).starts_with("-v: version \"v1\" of half has no Service"));
    add("v2", ServingType::custom);
    EXPECT_TRUE(split(request({"v2"})).starts_with("-v: half-v2-tensorflow-serving and half-v2-"));
}

// Goal: both kinds of splits of one name are seen, and can be ended.
TEST_F(TrafficSplitTest, EndOfASplit) {
    const auto remove = [&] {
        printed_.clear();
        const auto done = remove_split(servings_, splits_, "team", "half",
                                       [&](const std::string& line) { printed_.push_back(line); });
        return done ? Code::internal : done.error().code;
    };
    EXPECT_EQ(remove(), Code::not_found);
    splits_.all = std::vector<GatewayName>{{"infra", "web"}};
    EXPECT_EQ(split(request({"v1:50", "v2:50"})), "");
    SplitRequest routed = request({"v1:50", "v2:50"});
    routed.gateway = GatewayName{"infra", "web"};
    EXPECT_EQ(split(routed), "");
    EXPECT_TRUE(printed_.back().starts_with("service/half still splits the connections"));
    EXPECT_EQ(remove(), Code::internal) << "no error";
    EXPECT_EQ(printed_,
              (std::vector<std::string>{"httproute.gateway.networking.k8s.io/half deleted",
                                        "service/half deleted"}));
    EXPECT_FALSE(splits_.made_route || splits_.made_service);
    // Without the right to read routes.
    EXPECT_EQ(split(request({"v1:50", "v2:50"})), "");
    splits_.route_error = Error{Code::permission_denied, "no"};
    EXPECT_EQ(remove(), Code::internal);
    EXPECT_EQ(remove(), Code::permission_denied);
    splits_.route_error = Error{Code::unavailable, "no"};
    EXPECT_EQ(remove(), Code::unavailable);
}

// Goal: pods with an old label are put right, although the job's own label is right.
TEST_F(TrafficSplitTest, PodsOfAnEarlierPart) {
    servings_.jobs[0].pods.push_back({.name = "old", .in_split = true});
    servings_.jobs[1].pods.push_back({.name = "new", .in_split = true});
    servings_.jobs[2].pods.push_back({.name = "back", .in_split = true});
    EXPECT_EQ(split(request({"v1:50", "v2:50"})), "");
    EXPECT_EQ(splits_.parts, std::vector<std::string>{"v3 out"});
}

// Goal: a Service does not split by numbers of pods that autoscaling changes; one version and a
// Gateway do not depend on them.
TEST_F(TrafficSplitTest, Autoscaling) {
    servings_.jobs[1].scaling.emplace();
    for (const bool scale : {false, true}) {
        SplitRequest wanted = request({"v1:50", "v2:50"});
        wanted.scale = scale;
        EXPECT_EQ(split(wanted),
                  "-v: version v2 is scaled automatically, and a Service splits by the numbers of "
                  "pods; use --gateway, or switch the autoscaling off with tessera serve update "
                  "tensorflow --name half --version v2 --max-replicas 0");
    }
    EXPECT_TRUE(printed_.empty());
    EXPECT_EQ(split(request({"v2"})), "");
    splits_.all = std::vector<GatewayName>{{"infra", "web"}};
    SplitRequest by_gateway = request({"v1:50", "v2:50"});
    by_gateway.gateway = GatewayName{"infra", "web"};
    EXPECT_EQ(split(by_gateway), "");
}

// Goal: a part that reaches no ready pod is reported, and is no error.
TEST_F(TrafficSplitTest, WithoutAReadyPod) {
    servings_.jobs[1].available = 0;
    EXPECT_EQ(split(request({"v1:50", "v2:50"})), "");
    EXPECT_EQ(printed_.back(),
              "Version v2 has no ready pod: it gets no connections until one is ready; tessera "
              "serve get half -v v2 shows why");
    splits_.all = std::vector<GatewayName>{{"infra", "web"}};
    SplitRequest routed = request({"v1"});
    routed.gateway = GatewayName{"infra", "web"};
    EXPECT_EQ(split(routed), "");
    for (const std::string& line : printed_)
        EXPECT_FALSE(line.starts_with("Version")) << line;
}

TEST_F(TrafficSplitTest, Removal) {
    servings_.jobs[0].traffic = {.by_route = true, .takes_part = true, .percent = 100};
    const auto remove = [&](const char* version) {
        return remove_serving(servings_,
                              {.ns = "team", .name = "half", .version = version, .type = {}});
    };
    EXPECT_EQ(remove("v1").error().code, Code::conflict);
    EXPECT_EQ(servings_.jobs.size(), 3U);
    EXPECT_TRUE(remove("v2"));
    EXPECT_EQ(servings_.jobs.size(), 2U);
}

}  // namespace
}  // namespace tessera
