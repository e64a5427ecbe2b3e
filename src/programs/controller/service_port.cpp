#include "programs/controller/service_port.hpp"

#include <utility>

#include "base/log.hpp"
#include "programs/common/small_server.hpp"
#include "programs/controller/listen_config.hpp"

namespace tessera {
namespace {

constexpr std::chrono::milliseconds kCertificatePoll{100};
constexpr int kThreads = 16;
// A pod in etcd has 1.5 MiB at most, and a review has one or two.
constexpr std::size_t kMostBodyBytes = std::size_t{4} << 20;

}  // namespace

ServicePort::ServicePort(HttpClient& api, Clock& clock, ServicePortOptions options,
                         HttpServer::Handler handler, Access& access, ClientAuthorities authorities)
    : clock_(clock),
      options_(std::move(options)),
      handler_(std::move(handler)),
      access_(access),
      authorities_(std::move(authorities)),
      objects_(api, {options_.service.ns, options_.secret, options_.configuration}),
      certificates_(maker_, objects_, clock,
                    {options_.service.name + "." + options_.service.ns + ".svc"}),
      renewing_(clock, WebhookCertificates::kPeriod,
                [this](const std::stop_token&) { certificates_.run_round(); }) {}

HttpResponse ServicePort::not_ready() {
    return {.status = 503, .body = "the webhook has no certificate yet\n"};
}

void ServicePort::begin() {
    if (options_.port == 0) return;
    renewing_.start();
    serving_ = std::jthread([this](const std::stop_token& stop) { serve(stop); });
}

void ServicePort::end() {
    serving_ = {};
    renewing_.stop();
}

void ServicePort::serve(const std::stop_token& stop) {
    while (!stop.stop_requested() && !certificates_.server())
        clock_.sleep_for(kCertificatePoll, stop);
    const auto certificate = [this]() -> Result<HttpTlsPems> {
        TRY(CertifiedKey server, certificates_.server());
        return HttpTlsPems{std::move(server.certificate), std::move(server.key),
                           authorities_ ? authorities_() : std::string()};
    };
    while (!stop.stop_requested()) {
        HttpServer server({.address = options_.address,
                           .port = options_.port,
                           .threads = kThreads,
                           .max_body_bytes = kMostBodyBytes,
                           .tls_source = certificate},
                          handler_, gate_of(access_));
        if (const auto port = listen_soon(server, stop); !port) {
            if (stop.stop_requested()) return;
            log_event(Event::webhook_error, {{"reason", port.error().in("service_port").text}});
            clock_.sleep_for(kListenAgain, stop);
            continue;
        }
        is_ready_ = true;
        server.serve(stop);
        is_ready_ = false;
    }
}

}  // namespace tessera
