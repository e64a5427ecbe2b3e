#include "app/scheduler/custom_metrics/metrics_registrar.hpp"

#include <fmt/format.h>

#include <optional>
#include <utility>

#include "base/log.hpp"

namespace tessera {

Result<> MetricsRegistrar::learn_front_proxy() {
    TRY(FrontProxy read, ports_.registrations.front_proxy());
    const bool is_there = !read.client_ca.empty();
    {
        const MutexLock lock(mutex_);
        front_proxy_ = std::move(read);
    }
    if (is_there) return {};
    return fail(Code::unsupported,
                "the API server has no aggregation layer (--requestheader-client-ca-file), so it "
                "can pass no request on; set custom_metrics to false");
}

Result<> MetricsRegistrar::register_api() {
    std::optional<MetricsRegistration> ours;
    Result<> others;
    for (const std::string_view version : kMetricsVersions) {
        TRY(auto read, ports_.registrations.read(std::string(version)));
        if (!read) continue;
        if (read->service != ports_.service) {
            others = fail(Code::conflict,
                          fmt::format("APIService {}.{} belongs to {}, and is left alone: HPAs get "
                                      "their metrics from there",
                                      version, kMetricsGroup,
                                      read->service.empty() ? "the API server" : read->service));
        } else if (version == kMetricsVersion) {
            ours = *std::move(read);
        }
    }
    TRY(const auto authority, ports_.certificates.read_authority());
    // The thread that makes the certificates has not made them yet.
    if (!authority || authority->certificates.empty()) return others;
    if (ours) {
        // Also beside another one: the API server looks for the kinds of every registration.
        if (ours->certificates == authority->certificates) return others;
        TRY_VOID(ports_.fence.begin(kWriteTakes));
        TRY_VOID(ports_.registrations.trust(*ours, authority->certificates));
        return others;
    }
    if (!others) return others;
    TRY_VOID(ports_.fence.begin(kWriteTakes));
    TRY_VOID(ports_.registrations.create({.version = std::string(kMetricsVersion),
                                          .service = ports_.service,
                                          .certificates = authority->certificates,
                                          .revision = {}}));
    log_event(Event::custom_metrics_registered, {{"service", ports_.service}});
    return {};
}

void MetricsRegistrar::run_round() {
    auto done = learn_front_proxy();
    if (done && ports_.fence.leads()) done = register_api();
    const std::string fault = done ? "" : done.error().text;
    if (!fault.empty() && fault != fault_)
        log_event(Event::custom_metrics_error, {{"reason", fault}});
    fault_ = fault;
}

FrontProxy MetricsRegistrar::front_proxy() const {
    const MutexLock lock(mutex_);
    return front_proxy_;
}

}  // namespace tessera
