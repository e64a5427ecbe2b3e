// The certificates of a program behind a Service, without any work by hand. The replicas share a
// certificate authority in a Secret. Each replica signs a certificate for itself, which it keeps in
// memory, and makes the API server trust the authority if it is a client. An authority is replaced
// long before it ends: until the old one has ended, clients trust both.
//
// Every replica does all of it. What two of them do at the same time is the same, or one gets a
// conflict and tries again. So nothing is lost if they all stop for years: the first one that
// starts replaces what has expired.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/mutex.hpp"
#include "ports/certificates.hpp"
#include "ports/clock.hpp"
#include "ports/kube/authority_objects.hpp"

namespace tessera {

struct ServiceNames {
    std::string authority;               // what the authority's certificate is called
    std::vector<std::string> dns_names;  // those of the Service, by which clients call
};

class ServiceCertificates {
  public:
    static constexpr std::chrono::seconds kPeriod{30};
    static constexpr std::chrono::hours kAuthorityLasts{24 * 3650};
    static constexpr std::chrono::hours kAuthorityIsReplaced{24 * 365};  // before its end
    static constexpr std::chrono::hours kServerLasts{24 * 90};
    static constexpr std::chrono::hours kServerIsReplaced{24 * 30};  // before its end

    // All references outlive this.
    ServiceCertificates(CertificateMaker& maker, AuthorityObjects& objects, Clock& clock,
                        ServiceNames names);

    // Makes what is missing or old. One thread. If something fails, it is logged, and the next
    // round tries again.
    void run_round();
    // Any thread. unavailable until a round has succeeded.
    [[nodiscard]] Result<CertifiedKey> server() const;

  private:
    Result<> renew();
    Result<AuthoritySecret> authority();
    Result<AuthoritySecret> replace(const AuthoritySecret& before);
    [[nodiscard]] std::int64_t now_s() const { return clock_.unix_ns() / 1'000'000'000; }
    [[nodiscard]] bool is_good_for(const std::string& certificate, std::chrono::seconds rest) const;

    CertificateMaker& maker_;
    AuthorityObjects& objects_;
    Clock& clock_;
    const ServiceNames names_;
    std::string signed_by_;  // of the running thread: the authority's certificate
    std::string fault_;      // of the running thread: the last logged one, as long as it lasts

    mutable Mutex mutex_;
    std::optional<CertifiedKey> server_ TESSERA_GUARDED_BY(mutex_);
};

}  // namespace tessera
