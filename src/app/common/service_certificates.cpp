#include "app/common/service_certificates.hpp"

#include <utility>

#include "base/log.hpp"

namespace tessera {
namespace {

constexpr int kTries = 3;
constexpr std::string_view kEnd = "-----END CERTIFICATE-----\n";

// The certificates of a PEM text, one by one.
std::vector<std::string> each_of(const std::string& certificates) {
    std::vector<std::string> out;
    std::size_t begin = 0;
    while (true) {
        const std::size_t end = certificates.find(kEnd, begin);
        if (end == std::string::npos) return out;
        out.push_back(certificates.substr(begin, end + kEnd.size() - begin));
        begin = end + kEnd.size();
    }
}

}  // namespace

ServiceCertificates::ServiceCertificates(CertificateMaker& maker, AuthorityObjects& objects,
                                         Clock& clock, ServiceNames names)
    : maker_(maker), objects_(objects), clock_(clock), names_(std::move(names)) {}

bool ServiceCertificates::is_good_for(const std::string& certificate,
                                      std::chrono::seconds rest) const {
    const auto end = maker_.end_of(certificate);
    return end && *end - now_s() > rest.count();
}

// The newest authority, which is made if there is none or if it ends soon.
Result<AuthoritySecret> ServiceCertificates::authority() {
    TRY(const auto found, objects_.read_authority());
    AuthoritySecret before = found.value_or(AuthoritySecret{});
    const auto known = each_of(before.certificates);
    if (!known.empty() && is_good_for(known.front(), kAuthorityIsReplaced)) return before;
    return replace(before);
}

Result<AuthoritySecret> ServiceCertificates::replace(const AuthoritySecret& before) {
    TRY(const auto made, maker_.make_authority(names_.authority, now_s(), kAuthorityLasts));
    AuthoritySecret next = {
        .certificates = made.certificate, .key = made.key, .version = before.version};
    for (const std::string& certificate : each_of(before.certificates)) {
        if (is_good_for(certificate, std::chrono::seconds(0))) next.certificates += certificate;
    }
    TRY_VOID(objects_.write_authority(next));
    log_event(Event::authority_made, {{"replaces", before.key.empty() ? "none" : "one"}});
    return next;
}

// Clients trust an authority before a replica shows a certificate that it has signed.
Result<> ServiceCertificates::renew() {
    TRY(const AuthoritySecret found, authority());
    TRY_VOID(objects_.trust(found.certificates));
    const std::string newest = each_of(found.certificates).front();
    {
        const MutexLock lock(mutex_);
        if (server_ && signed_by_ == newest && is_good_for(server_->certificate, kServerIsReplaced))
            return {};
    }
    auto made = maker_.sign_server({newest, found.key}, names_.dns_names, now_s(), kServerLasts);
    if (!made && made.error().code == Code::corrupt) {
        // The Secret was edited. The next round signs with what replaces it.
        TRY_VOID(replace(found));
        return fail(Code::conflict, "the certificate authority was damaged, and is replaced");
    }
    if (!made) return fail(made.error());
    signed_by_ = newest;
    const MutexLock lock(mutex_);
    server_ = *std::move(made);
    return {};
}

void ServiceCertificates::run_round() {
    Result<> done = renew();
    // Another replica made the authority at the same time, or it was replaced.
    for (int i = 0; i < kTries && !done && done.error().code == Code::conflict; ++i)
        done = renew();
    const std::string fault = done ? "" : done.error().text;
    if (!fault.empty() && fault != fault_)
        log_event(Event::service_certificate_error, {{"reason", fault}});
    fault_ = fault;
}

Result<CertifiedKey> ServiceCertificates::server() const {
    const MutexLock lock(mutex_);
    if (server_) return *server_;
    return fail(Code::unavailable, "there is no certificate yet");
}

}  // namespace tessera
