#include "app/scheduler/custom_metrics/metrics_registrar.hpp"

#include <gtest/gtest.h>

#include <map>
#include <vector>

namespace tessera {
namespace {

using Writes = std::vector<std::string>;

class FakeRegistrations final : public MetricsRegistrations {
  public:
    Result<FrontProxy> front_proxy() override { return proxy; }
    Result<std::optional<MetricsRegistration>> read(const std::string& version) override {
        if (fault) return fail(*fault);
        const auto found = there.find(version);
        if (found == there.end()) return std::optional<MetricsRegistration>();
        return std::optional(found->second);
    }
    Result<> create(const MetricsRegistration& made) override {
        writes.push_back("create " + made.version + " " + made.service + " " + made.certificates);
        there[made.version] = made;
        return {};
    }
    Result<> trust(const MetricsRegistration& read, const std::string& certificates) override {
        writes.push_back("trust " + read.version + " " + certificates);
        there[read.version].certificates = certificates;
        return {};
    }

    FrontProxy proxy{"CA", {"front-proxy-client"}};
    std::map<std::string, MetricsRegistration> there;
    std::optional<Error> fault;
    Writes writes;
};

class FakeAuthority final : public AuthorityObjects {
  public:
    Result<std::optional<AuthoritySecret>> read_authority() override { return secret; }
    Result<> write_authority(const AuthoritySecret& /*secret*/) override { return {}; }
    Result<> trust(const std::string& /*certificates*/) override { return {}; }

    std::optional<AuthoritySecret> secret =
        AuthoritySecret{.certificates = "C1", .key = "k", .version = "1"};
};

class MetricsRegistrarTest : public ::testing::Test {
  protected:
    Writes round() {
        registrar_.run_round();
        return std::exchange(registrations_.writes, {});
    }
    void there(const std::string& version, const std::string& service) {
        registrations_.there[version] = {
            .version = version, .service = service, .certificates = "C1", .revision = "7"};
    }

    FakeRegistrations registrations_;
    FakeAuthority authority_;
    bool leads_ = true;
    MetricsRegistrar registrar_{{registrations_, authority_, "tessera-system/tessera-controller",
                                 WriteFence([this](std::chrono::nanoseconds) { return leads_; })}};
};

// Goal: the API is registered once, and follows new certificates; only the leader writes.
TEST_F(MetricsRegistrarTest, Registers) {
    EXPECT_FALSE(registrar_.front_proxy().allows("front-proxy-client"));
    leads_ = false;
    EXPECT_EQ(round(), Writes{});
    EXPECT_TRUE(registrar_.front_proxy().allows("front-proxy-client"));
    EXPECT_FALSE(registrar_.front_proxy().allows("kube-scheduler"));
    leads_ = true;
    EXPECT_EQ(round(), Writes{"create v1beta2 tessera-system/tessera-controller C1"});
    EXPECT_EQ(round(), Writes{});
    authority_.secret->certificates = "C2C1";
    EXPECT_EQ(round(), Writes{"trust v1beta2 C2C1"});
    EXPECT_EQ(round(), Writes{});
    registrations_.there.clear();
    EXPECT_EQ(round(), Writes{"create v1beta2 tessera-system/tessera-controller C2C1"});
}

// Goal: another adapter's registration is left alone, in whichever version it is. Method: a table.
TEST_F(MetricsRegistrarTest, LeavesOthersAlone) {
    authority_.secret->certificates = "C2";
    for (const char* version : {"v1beta2", "v1beta1"}) {
        for (const char* service : {"monitoring/prometheus-adapter", "tessera-system/other", ""}) {
            registrations_.there.clear();
            there(version, service);
            EXPECT_EQ(round(), Writes{}) << version << " " << service;
        }
    }
    // Beside ours: it came later.
    there("v1beta2", "tessera-system/tessera-controller");
    there("v1beta1", "monitoring/prometheus-adapter");
    EXPECT_EQ(round(), Writes{"trust v1beta2 C2"});
}

// Goal: nothing is registered that the API server could not call, or that is not known.
TEST_F(MetricsRegistrarTest, WaitsForWhatItNeeds) {
    authority_.secret.reset();
    EXPECT_EQ(round(), Writes{});
    authority_.secret = AuthoritySecret{};
    EXPECT_EQ(round(), Writes{});
    authority_.secret->certificates = "C1";
    registrations_.fault = Error{Code::permission_denied, "no right"};
    EXPECT_EQ(round(), Writes{});
    registrations_.fault.reset();
    registrations_.proxy = {};
    EXPECT_EQ(round(), Writes{});
    EXPECT_FALSE(registrar_.front_proxy().allows(""));
}

}  // namespace
}  // namespace tessera
