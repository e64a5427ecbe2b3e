#include "programs/controller/leadership.hpp"

#include <fmt/format.h>
#include <limits.h>
#include <unistd.h>

#include <array>
#include <random>

namespace tessera {
namespace {

std::string made_up() {
    std::array<char, HOST_NAME_MAX + 1> host{};
    ::gethostname(host.data(), host.size() - 1);
    return fmt::format("{}_{:08x}", host.data(), std::random_device()());
}

}  // namespace

Result<LeaseName> read_lease_name(const std::string& text) {
    if (text.empty()) return LeaseName{};
    const std::size_t slash = text.find('/');
    if (slash != std::string::npos) {
        LeaseName lease{text.substr(0, slash), text.substr(slash + 1)};
        const bool is_good =
            !lease.ns.empty() && !lease.name.empty() && lease.name.find('/') == std::string::npos;
        if (is_good) return lease;
    }
    return fail(Code::invalid_argument, fmt::format("lease: \"{}\" is not NAMESPACE/NAME", text));
}

Leadership::Leadership(HttpClient& api, Clock& clock, const LeaseName& lease,
                       const std::string& identity, const std::string& url) {
    if (lease.name.empty()) return;
    const std::string who = identity.empty() ? made_up() : identity;
    store_ = std::make_unique<KubeLeaseStore>(api, lease.ns, lease.name);
    election_ = std::make_shared<Election>(
        *store_, clock, ElectionOptions{.identity = who, .url = url}, [this](int term) {
            // The informers may not have observed the predecessor's last Bindings yet. The list may
            // also arrive after this object has ended.
            informers_->relist_pods([election = std::weak_ptr(election_), term] {
                if (const auto now = election.lock()) now->begin_term(term);
            });
        });
}

WriteFence Leadership::fence() const {
    if (!election_) return {};
    return WriteFence([this](auto within) { return election_->begin_write(within); });
}

void Leadership::begin(Informers& informers) {
    informers_ = &informers;
    if (!election_) return;
    thread_ = std::jthread([this](const std::stop_token& stop) { election_->run(stop); });
}

}  // namespace tessera
