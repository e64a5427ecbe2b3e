#include "programs/controller/leadership.hpp"

#include <fmt/format.h>
#include <limits.h>
#include <unistd.h>

#include <array>
#include <random>
#include <utility>

namespace tessera {
namespace {

std::string made_up() {
    std::array<char, HOST_NAME_MAX + 1> host{};
    ::gethostname(host.data(), host.size() - 1);
    return fmt::format("{}_{:08x}", host.data(), std::random_device()());
}

}  // namespace

Leadership::Leadership(HttpClient& api, Clock& clock, const LeadershipOptions& options) {
    if (options.lease.name.empty()) return;
    store_ = std::make_unique<KubeLeaseStore>(api, options.lease.ns, options.lease.name);
    ElectionOptions election = {.identity = options.identity.empty() ? made_up() : options.identity,
                                .url = options.url};
    if (!options.scheduler_lease.name.empty()) {
        scheduler_store_ = std::make_unique<KubeLeaseStore>(api, options.scheduler_lease.ns,
                                                            options.scheduler_lease.name);
        scheduler_.emplace(*scheduler_store_, election.identity);
        election.is_candidate = [this] { return scheduler_->leads(); };
    }
    election_ = std::make_shared<Election>(*store_, clock, std::move(election), [this](int term) {
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

void Leadership::wait_to_lead(const std::stop_token& stop) const {
    // kube-scheduler waits 15 s for an answer (httpTimeout in the chart).
    constexpr std::chrono::seconds kMost{10};
    if (scheduler_) election_->wait_to_write(kMost, stop);
}

void Leadership::begin(Informers& informers) {
    informers_ = &informers;
    if (!election_) return;
    thread_ = std::jthread([this](const std::stop_token& stop) { election_->run(stop); });
}

}  // namespace tessera
