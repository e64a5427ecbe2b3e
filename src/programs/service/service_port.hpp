// The port of a program behind its Service. Every replica serves it, over TLS with a certificate
// that the program makes itself (service_certificates.hpp).
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <stop_token>
#include <string>
#include <thread>

#include "adapters/certificates/openssl_certificates.hpp"
#include "adapters/http/http.hpp"
#include "adapters/kube/kube_authority_objects.hpp"
#include "app/common/periodic.hpp"
#include "app/common/service_certificates.hpp"
#include "programs/service/object_name.hpp"

namespace tessera {

struct ServicePortOptions {
    std::string row;  // of the configuration: what an error of the port names
    std::string address;
    int port = 0;
    int threads = 0;
    std::size_t max_body_bytes = 0;
    ObjectName service{};
    std::string component{};      // of the Secret, if it has to be created
    std::string authority{};      // what the authority's certificate is called
    std::string secret{};         // with the authority, in the namespace of the Service
    std::string configuration{};  // of webhooks; empty: none
    std::string config_map{};     // whose key ca.crt clients read; empty: none
    std::size_t most_connections = 512;
    std::chrono::seconds idle{120};  // until a connection without a request is closed
};

class ServicePort {
  public:
    // The authorities of the clients' certificates, in PEM, at any time; empty: no client is asked
    // for one. Any thread may be the caller.
    using ClientAuthorities = std::function<std::string()>;

    // All references outlive this.
    ServicePort(HttpClient& api, Clock& clock, ServicePortOptions options,
                HttpServer::Handler handler, HttpServer::Gate gate,
                ClientAuthorities authorities = {});

    // Makes the certificates and then serves, in threads, until end(). Port 0: does neither.
    void begin();
    // Finishes the answers in progress.
    void end();
    // Whether it serves, or need not. Any thread.
    [[nodiscard]] bool is_ready() const { return is_ready_ || options_.port == 0; }
    // What /readyz answers meanwhile.
    [[nodiscard]] HttpResponse not_ready() const;

  private:
    void serve(const std::stop_token& stop);

    Clock& clock_;
    const ServicePortOptions options_;
    const HttpServer::Handler handler_;
    const HttpServer::Gate gate_;
    const ClientAuthorities authorities_;
    OpensslCertificates maker_;
    KubeAuthorityObjects objects_;
    ServiceCertificates certificates_;
    Periodic renewing_;
    std::atomic<bool> is_ready_ = false;
    std::jthread serving_;
};

}  // namespace tessera
