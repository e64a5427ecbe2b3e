// The port behind the controllers' Service: the admission webhook for the API server, and metrics
// and inspect for clients with a token. Every replica serves it, over TLS with a certificate that
// the controllers make (webhook_certificates.hpp).
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <stop_token>
#include <string>
#include <thread>

#include "adapters/certificates/openssl_certificates.hpp"
#include "adapters/http/http.hpp"
#include "adapters/kube/kube_webhook_objects.hpp"
#include "app/common/periodic.hpp"
#include "app/scheduler/admission/webhook_certificates.hpp"
#include "app/scheduler/http/access.hpp"
#include "programs/controller/object_name.hpp"

namespace tessera {

struct ServicePortOptions {
    std::string address;
    int port = 0;
    ObjectName service;
    std::string secret;
    std::string configuration;  // empty: none
    bool custom_metrics = false;
};

class ServicePort {
  public:
    // The authorities of the clients' certificates, in PEM, at any time; empty: no client is asked
    // for one. Any thread may be the caller.
    using ClientAuthorities = std::function<std::string()>;

    // All references outlive this.
    ServicePort(HttpClient& api, Clock& clock, ServicePortOptions options,
                HttpServer::Handler handler, Access& access, ClientAuthorities authorities = {});

    // Makes the certificates and then serves, in threads, until end(). Port 0: does neither.
    void begin();
    // Finishes the answers in progress.
    void end();
    // Whether it serves, or need not. Any thread.
    [[nodiscard]] bool is_ready() const { return is_ready_ || options_.port == 0; }
    // What /readyz answers meanwhile.
    static HttpResponse not_ready();

  private:
    void serve(const std::stop_token& stop);

    Clock& clock_;
    const ServicePortOptions options_;
    const HttpServer::Handler handler_;
    Access& access_;
    const ClientAuthorities authorities_;
    OpensslCertificates maker_;
    KubeWebhookObjects objects_;
    WebhookCertificates certificates_;
    Periodic renewing_;
    std::atomic<bool> is_ready_ = false;
    std::jthread serving_;
};

}  // namespace tessera
