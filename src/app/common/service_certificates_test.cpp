#include "app/common/service_certificates.hpp"

#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <utility>

#include "testing/fakes/fake_clock.hpp"

namespace tessera {
namespace {

using std::chrono::hours;

ServiceNames names() {
    return {.authority = "tessera-test", .dns_names = {"service"}};
}

// Certificates whose text names their signer and their end.
class FakeMaker final : public CertificateMaker {
  public:
    Result<CertifiedKey> make_authority(const std::string& name, std::int64_t now_s,
                                        std::chrono::seconds valid_for) override {
        const std::string key = name + std::to_string(++made_);
        return CertifiedKey{pem(key, now_s + valid_for.count()), key};
    }
    Result<CertifiedKey> sign_server(const CertifiedKey& authority,
                                     const std::vector<std::string>& dns_names, std::int64_t now_s,
                                     std::chrono::seconds valid_for) override {
        if (authority.certificate.find(authority.key + "\n") == std::string::npos)
            return fail(Code::corrupt, "no pair");
        EXPECT_EQ(dns_names, names().dns_names);
        return CertifiedKey{pem("by " + authority.key, now_s + valid_for.count()), "server"};
    }
    Result<std::int64_t> end_of(const std::string& certificate) override {
        const auto found = ends_.find(certificate);
        if (found == ends_.end()) return fail(Code::corrupt, "none");
        return found->second;
    }

  private:
    std::string pem(const std::string& text, std::int64_t end_s) {
        const std::string out = "-----BEGIN CERTIFICATE-----\n" + text + "\n" +
                                std::to_string(end_s) + "\n-----END CERTIFICATE-----\n";
        ends_[out] = end_s;
        return out;
    }

    int made_ = 0;
    std::map<std::string, std::int64_t> ends_;
};

class FakeObjects final : public AuthorityObjects {
  public:
    Result<std::optional<AuthoritySecret>> read_authority() override {
        if (down) return fail(Code::unavailable, "down");
        return secret;
    }
    Result<> write_authority(const AuthoritySecret& next) override {
        if (before_write) std::exchange(before_write, nullptr)();
        if (next.version != (secret ? secret->version : "")) return fail(Code::conflict, "changed");
        secret = next;
        secret->version = std::to_string(++version_);
        return {};
    }
    Result<> trust(const std::string& certificates) override {
        trusted = certificates;
        return {};
    }

    std::optional<AuthoritySecret> secret;
    std::string trusted;
    bool down = false;
    std::function<void()> before_write;

  private:
    int version_ = 0;
};

class ServiceCertificatesTest : public ::testing::Test {
  protected:
    std::string shown() { return shown_by(certificates_); }
    static std::string shown_by(const ServiceCertificates& certificates) {
        const auto server = certificates.server();
        return server ? server->certificate : server.error().text;
    }
    // The API server accepts the certificate: it trusts the authority that signed it.
    bool is_trusted() {
        const std::string text = shown();
        const std::size_t begin = text.find("by ") + 3;
        const std::string key = text.substr(begin, text.find('\n', begin) - begin);
        return text.find("by ") != std::string::npos &&
               objects_.trusted.find("\n" + key + "\n") != std::string::npos;
    }

    FakeMaker maker_;
    FakeObjects objects_;
    FakeClock clock_;
    ServiceCertificates certificates_{maker_, objects_, clock_, names()};
};

// Goal: the first replica makes an authority, trusts it and signs its own certificate. The next
// rounds change nothing, and another replica uses the same authority.
TEST_F(ServiceCertificatesTest, MadeOnce) {
    EXPECT_EQ(shown(), "there is no certificate yet");
    certificates_.run_round();
    EXPECT_TRUE(is_trusted()) << shown();
    const auto secret = objects_.secret;
    const std::string before = shown();
    certificates_.run_round();
    EXPECT_EQ(objects_.secret, secret);
    EXPECT_EQ(shown(), before);
    ServiceCertificates other(maker_, objects_, clock_, names());
    other.run_round();
    EXPECT_EQ(objects_.secret, secret);
    EXPECT_EQ(shown_by(other), before);
}

// Goal: of two replicas that start at the same time, one makes the authority and both use it.
TEST_F(ServiceCertificatesTest, TwoAtTheSameTime) {
    ServiceCertificates other(maker_, objects_, clock_, names());
    objects_.before_write = [&] { other.run_round(); };
    certificates_.run_round();
    EXPECT_EQ(shown(), shown_by(other));
    EXPECT_TRUE(is_trusted());
}

// Goal: while the API server is away, the certificate stays in use.
TEST_F(ServiceCertificatesTest, ApiServerAway) {
    objects_.down = true;
    certificates_.run_round();
    EXPECT_EQ(shown(), "there is no certificate yet");
    objects_.down = false;
    certificates_.run_round();
    const std::string before = shown();
    objects_.down = true;
    certificates_.run_round();
    EXPECT_EQ(shown(), before);
}

// Goal: over decades, in which each replica runs a round a day, there is always a certificate that
// has not expired, signed by an authority that is trusted and has not expired. Old authorities
// leave the Secret once they have ended.
TEST_F(ServiceCertificatesTest, RenewedInTime) {
    for (int day = 0; day < 30 * 365; ++day) {
        certificates_.run_round();
        ASSERT_TRUE(is_trusted()) << "on day " << day;
        const std::int64_t now_s = clock_.unix_ns() / 1'000'000'000;
        ASSERT_GT(maker_.end_of(shown()).value_or(0), now_s + std::int64_t{24} * 3'600)
            << "on day " << day;
        std::size_t count = 0;
        for (std::size_t at = 0; (at = objects_.trusted.find("BEGIN", at)) != std::string::npos;
             ++at)
            ++count;
        ASSERT_LE(count, 2U);
        clock_.advance(hours(24));
    }
    EXPECT_NE(objects_.trusted.find("tessera-test4"), std::string::npos) << objects_.trusted;
}

// Goal: all replicas were down until everything had expired; the first round replaces it.
TEST_F(ServiceCertificatesTest, ExpiredWhileAllWereDown) {
    certificates_.run_round();
    clock_.advance(hours(24 * 365 * 20));
    ServiceCertificates later(maker_, objects_, clock_, names());
    later.run_round();
    EXPECT_NE(shown_by(later).find("by tessera-test2"), std::string::npos) << shown_by(later);
    EXPECT_EQ(objects_.trusted.find("tessera-test1"), std::string::npos);
}

// Goal: a Secret that was edited is replaced: without a key, with another one, or with no
// certificate at all. A certificate that may be in use stays trusted.
TEST_F(ServiceCertificatesTest, DamagedSecret) {
    for (const int damage : {0, 1, 2, 3}) {
        certificates_.run_round();
        ASSERT_TRUE(is_trusted());
        AuthoritySecret& secret = *objects_.secret;
        if (damage == 0) secret.key.clear();
        if (damage == 1) secret.key = "another";
        if (damage == 2) secret.certificates = "nonsense";
        if (damage == 3) objects_.secret.reset();
        ServiceCertificates other(maker_, objects_, clock_, names());
        other.run_round();
        EXPECT_TRUE(shown_by(other).starts_with("-----BEGIN")) << shown_by(other);
        EXPECT_TRUE(damage >= 2 || is_trusted()) << "the first replica still shows the old one";
    }
}

}  // namespace
}  // namespace tessera
