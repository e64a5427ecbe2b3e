#include "app/scheduler/http/access.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "app/scheduler/http/route_table.hpp"
#include "testing/fakes/fake_access_review.hpp"
#include "testing/fakes/fake_clock.hpp"

namespace tessera {
namespace {

struct Seen {
    const char* method;
    const char* path;
    AuthRequirement need;
};

// Goal: the requirement of each route, stated a second time, so that a change of the table needs a
// change here. A path that is no route of ours is not open.
const std::vector<Seen>& all_needs() {
    static const std::vector<Seen> rows = {
        {"POST", "/gpushare-scheduler/filter", AuthRequirement::certificate},
        {"POST", "/gpushare-scheduler/prioritize", AuthRequirement::certificate},
        {"POST", "/gpushare-scheduler/preempt", AuthRequirement::certificate},
        {"POST", "/gpushare-scheduler/bind", AuthRequirement::certificate},
        {"POST", "/gpushare-scheduler/bind/", AuthRequirement::certificate},
        {"GET", "/gpushare-scheduler/bind", AuthRequirement::certificate},
        {"POST", "/webhook/admit", AuthRequirement::admission},
        {"GET", "/apis/custom.metrics.k8s.io", AuthRequirement::front_proxy},
        {"GET", "/apis/custom.metrics.k8s.io/", AuthRequirement::front_proxy},
        {"GET", "/apis/custom.metrics.k8s.io/v1beta2/namespaces/a/pods/*/b",
         AuthRequirement::front_proxy},
        {"POST", "/apis/custom.metrics.k8s.io", AuthRequirement::certificate},
        {"GET", "/apis/custom.metrics.k8s.iox", AuthRequirement::certificate},
        {"GET", "/apis", AuthRequirement::certificate},
        {"GET", "/gpushare-scheduler/inspect", AuthRequirement::token},
        {"GET", "/gpushare-scheduler/inspect/", AuthRequirement::token},
        {"GET", "/gpushare-scheduler/inspect/n1", AuthRequirement::token},
        {"GET", "/gpushare-scheduler/inspect/n1/", AuthRequirement::token},
        {"GET", "/gpushare-scheduler/inspect/n1/more", AuthRequirement::token},
        {"POST", "/gpushare-scheduler/inspect", AuthRequirement::certificate},
        {"GET", "/gpushare-scheduler/inspectors", AuthRequirement::certificate},
        {"GET", "/metrics", AuthRequirement::token},
        {"GET", "/metrics/", AuthRequirement::token},
        {"GET", "/metrics/x", AuthRequirement::certificate},
        {"GET", "//metrics", AuthRequirement::certificate},
        {"HEAD", "/metrics", AuthRequirement::certificate},
        {"get", "/metrics", AuthRequirement::certificate},
        {"GET", "/version", AuthRequirement::nothing},
        {"GET", "/version/", AuthRequirement::nothing},
        {"GET", "/healthz", AuthRequirement::nothing},
        {"GET", "/readyz", AuthRequirement::nothing},
        {"POST", "/healthz", AuthRequirement::certificate},
        {"GET", "/healthz/x", AuthRequirement::certificate},
        {"GET", "/", AuthRequirement::certificate},
        {"GET", "", AuthRequirement::certificate},
        {"GET", "/debug/pprof/", AuthRequirement::certificate},
    };
    return rows;
}

TEST(RouteTable, AuthRequirementOf) {
    for (const Seen& c : all_needs())
        EXPECT_EQ(requirement_of(c.method, c.path), c.need) << c.method << " " << c.path;
    for (const RouteRow& row : kRoutes) {
        EXPECT_TRUE(std::ranges::any_of(all_needs(), [&](const Seen& c) {
            return row.method == c.method && row.path == c.path;
        })) << row.path;
    }
}

class AccessTest : public ::testing::Test {
  protected:
    static constexpr const char* kInspect = "/gpushare-scheduler/inspect";

    AccessTest() {
        review_.tokens["reader"] = {{"/metrics", Verdict::granted}, {kInspect, Verdict::granted}};
        review_.tokens["scraper"] = {{"/metrics", Verdict::granted}};
    }
    // The status of the refusal; 0: allowed.
    int request(const Seen& c, const std::string& token = "", bool has_certificate = false) {
        const auto refused = access_.refuse({c.method, c.path, has_certificate, token});
        return refused ? refused->status : 0;
    }
    int get(const char* path, const std::string& token) {
        return request({"GET", path, AuthRequirement::token}, token);
    }

    FakeAccessReview review_;
    FakeClock clock_;
    Access access_{review_, clock_, {.certificates = true}};
};

// Goal: each requirement is met only by its own kind of proof.
TEST_F(AccessTest, EachNeedHasItsProof) {
    for (const Seen& c : all_needs()) {
        const int without = c.need == AuthRequirement::nothing ? 0
                            : c.need == AuthRequirement::token ? 401
                                                               : 403;
        EXPECT_EQ(request(c), without) << c.path;
        EXPECT_EQ(request(c, "", true), c.need == AuthRequirement::certificate ? 0 : without)
            << c.path;
        const bool is_read = c.need == AuthRequirement::token;
        EXPECT_EQ(request(c, "reader"), is_read ? 0 : without) << c.path;
    }
    EXPECT_EQ(get("/metrics", "scraper"), 0);
    EXPECT_EQ(get(kInspect, "scraper"), 403);
    EXPECT_EQ(get("/metrics", "made-up"), 401);
}

// Goal: what cannot be checked is open: certificates without a client CA, reads by the flag. The
// webhook is served only where the API server calls it, and nothing of kube-scheduler there.
TEST_F(AccessTest, Options) {
    using enum AuthRequirement;
    const auto refused = [this](const AccessOptions& options) {
        Access access(review_, clock_, options);
        std::set<AuthRequirement> out;
        for (const Seen& c : all_needs())
            if (access.refuse({c.method, c.path, false, ""})) out.insert(c.need);
        return out;
    };
    EXPECT_EQ(refused({}), (std::set{token, admission, front_proxy}));
    EXPECT_EQ(refused({.certificates = true, .open_reads = true}),
              (std::set{certificate, admission, front_proxy}));
    EXPECT_EQ(refused({.certificates = true, .admissions = true}),
              (std::set{certificate, token, front_proxy}));
    EXPECT_EQ(review_.reviews, 0);
}

// Goal: only the API server's own client reaches the custom metrics API, and its certificate opens
// no route of kube-scheduler. Method: each route as that client, as another client with a
// certificate of the same authority, and without a certificate.
TEST_F(AccessTest, FrontProxy) {
    Access access(review_, clock_,
                  {.certificates = true,
                   .is_front_proxy = [](std::string_view name) { return name == "proxy"; }});
    for (const Seen& c : all_needs()) {
        const auto refuses = [&](bool has_certificate, const char* name) {
            return access.refuse({c.method, c.path, has_certificate, "", name}).has_value();
        };
        const bool is_open = c.need == AuthRequirement::nothing;
        EXPECT_EQ(refuses(true, "proxy"), !is_open && c.need != AuthRequirement::front_proxy)
            << c.path;
        EXPECT_EQ(refuses(true, "other"), !is_open) << c.path;
        EXPECT_EQ(refuses(false, "proxy"), !is_open) << c.path;
    }
}

}  // namespace
}  // namespace tessera
