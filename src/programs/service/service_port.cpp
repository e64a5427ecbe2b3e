#include "programs/service/service_port.hpp"

#include <utility>

#include "base/log.hpp"
#include "programs/common/small_server.hpp"
#include "programs/service/http_routes.hpp"

namespace tessera {
namespace {

constexpr std::chrono::milliseconds kCertificatePoll{100};

}  // namespace

ServicePort::ServicePort(HttpClient& api, Clock& clock, ServicePortOptions options,
                         HttpServer::Handler handler, HttpServer::Gate gate,
                         ClientAuthorities authorities)
    : clock_(clock),
      options_(std::move(options)),
      handler_(std::move(handler)),
      gate_(std::move(gate)),
      authorities_(std::move(authorities)),
      objects_(api, {.ns = options_.service.ns,
                     .secret = options_.secret,
                     .component = options_.component,
                     .configuration = options_.configuration,
                     .config_map = options_.config_map}),
      certificates_(maker_, objects_, clock,
                    {.authority = options_.authority,
                     .dns_names = {options_.service.name + "." + options_.service.ns + ".svc"}}),
      renewing_(clock, ServiceCertificates::kPeriod,
                [this](const std::stop_token&) { certificates_.run_round(); }) {}

HttpResponse ServicePort::not_ready() const {
    return {.status = 503, .body = options_.row + " has no certificate yet\n"};
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
                           .threads = options_.threads,
                           .most_connections = options_.most_connections,
                           .idle = options_.idle,
                           .max_body_bytes = options_.max_body_bytes,
                           .tls_source = certificate},
                          handler_, gate_);
        if (const auto port = listen_soon(server, stop); !port) {
            if (stop.stop_requested()) return;
            log_event(Event::service_certificate_error,
                      {{"reason", port.error().in(options_.row).text}});
            clock_.sleep_for(kListenAgain, stop);
            continue;
        }
        is_ready_ = true;
        server.serve(stop);
        is_ready_ = false;
    }
}

}  // namespace tessera
