#include <httplib.h>
#include <openssl/pem.h>
#include <openssl/x509.h>
#include <poll.h>

#include <mutex>
#include <utility>
#include <vector>

#include "adapters/http/http.hpp"

namespace tessera {
namespace {

using ClientPtr = std::unique_ptr<httplib::Client>;

struct BioDeleter {
    void operator()(BIO* bio) const { BIO_free(bio); }
};
using BioPtr = std::unique_ptr<BIO, BioDeleter>;

BioPtr read_only(const std::string& pem) {
    return BioPtr(BIO_new_mem_buf(pem.data(), static_cast<int>(pem.size())));
}

// Owned by the SSL context that it is given to.
X509_STORE* store_of(const std::string& ca_pem) {
    X509_STORE* store = X509_STORE_new();
    const BioPtr bio = read_only(ca_pem);
    while (X509* cert = PEM_read_bio_X509(bio.get(), nullptr, nullptr, nullptr)) {
        X509_STORE_add_cert(store, cert);
        X509_free(cert);
    }
    return store;
}

std::string origin(const HttpEndpoint& endpoint) {
    const bool v6 = endpoint.host.find(':') != std::string::npos;
    return (endpoint.tls ? "https://" : "http://") +
           (v6 ? "[" + endpoint.host + "]" : endpoint.host) + ":" + std::to_string(endpoint.port);
}

// A client certificate without private files: the library's wrapper takes file names only, so the
// TLS context is given the parsed objects.
void use_certificate(httplib::Client& client, const HttpEndpoint& endpoint) {
    SSL_CTX* context = client.ssl_context();
    const BioPtr cert_bio = read_only(endpoint.client_cert_pem);
    const BioPtr key_bio = read_only(endpoint.client_key_pem);
    if (X509* cert = PEM_read_bio_X509(cert_bio.get(), nullptr, nullptr, nullptr)) {
        SSL_CTX_use_certificate(context, cert);
        X509_free(cert);
    }
    if (EVP_PKEY* key = PEM_read_bio_PrivateKey(key_bio.get(), nullptr, nullptr, nullptr)) {
        SSL_CTX_use_PrivateKey(context, key);
        EVP_PKEY_free(key);
    }
}

ClientPtr connect(const HttpEndpoint& endpoint) {
    auto client = std::make_unique<httplib::Client>(origin(endpoint));
    client->set_keep_alive(true);
    client->set_tcp_nodelay(true);
    if (endpoint.tls) {
        client->enable_server_certificate_verification(endpoint.verify);
        if (!endpoint.ca_pem.empty()) client->set_ca_cert_store(store_of(endpoint.ca_pem));
        if (!endpoint.client_cert_pem.empty()) use_certificate(*client, endpoint);
    }
    return client;
}

httplib::Request message(const HttpEndpoint& endpoint, const HttpRequest& request) {
    httplib::Request out;
    out.method = request.method;
    out.path = request.path;
    out.body = request.body;
    out.headers.emplace("Accept", "application/json");
    out.headers.emplace("User-Agent", "tessera/" TESSERA_VERSION);
    if (!request.content_type.empty()) out.headers.emplace("Content-Type", request.content_type);
    if (endpoint.bearer_token) {
        const std::string token = endpoint.bearer_token();
        if (!token.empty()) out.headers.emplace("Authorization", "Bearer " + token);
    }
    return out;
}

tl::unexpected<Error> no_answer(const HttpEndpoint& endpoint, httplib::Error error) {
    return fail(Code::unavailable,
                origin(endpoint) + " does not answer: " + httplib::to_string(error));
}

// An idle connection has nothing to read. Where there is something, it is the server's goodbye,
// which the library takes for life: a request written to it would be lost.
bool is_usable(const httplib::Client& client) {
    if (client.is_socket_open() == 0) return false;
    pollfd entry{client.socket(), POLLIN, 0};
    return ::poll(&entry, 1, 0) == 0;
}

}  // namespace

class HttpClient::Impl {
  public:
    explicit Impl(HttpEndpoint endpoint) : endpoint_(std::move(endpoint)) {}

    Result<HttpResponse> send(const HttpRequest& request, std::chrono::milliseconds deadline) {
        ClientPtr idle = take_idle();
        const bool reused = idle != nullptr;
        Attempt attempt =
            try_once(reused ? std::move(idle) : connect(endpoint_), request, deadline);
        // Closed by the server just now: it has not read the whole request, so it did nothing.
        if (reused && attempt.error == httplib::Error::Write) {
            attempt = try_once(connect(endpoint_), request, deadline);
        }
        if (attempt.error != httplib::Error::Success) return no_answer(endpoint_, attempt.error);
        return std::move(attempt.response);
    }

    Result<HttpResponse> stream(const std::string& path,
                                const std::function<bool(std::string_view)>& on_data,
                                std::chrono::seconds idle, const std::stop_token& stop) {
        const ClientPtr client = connect(endpoint_);
        client->set_connection_timeout(std::chrono::seconds(10));
        client->set_read_timeout(idle);
        client->set_keep_alive(false);
        HttpResponse result;
        httplib::Request out = message(endpoint_, {.method = "GET", .path = path});
        out.response_handler = [&](const httplib::Response& response) {
            result.status = response.status;
            return true;
        };
        out.content_receiver = [&](const char* data, std::size_t size, std::uint64_t,
                                   std::uint64_t) {
            if (stop.stop_requested()) return false;
            if (result.status == 200) return on_data({data, size});
            result.body.append(data, size);
            return true;
        };
        const std::stop_callback on_stop(stop, [&client] { client->stop(); });
        httplib::Response in;
        httplib::Error error = httplib::Error::Success;
        // An end that we asked for (Canceled) is not an error.
        if (!client->send(out, in, error) && error != httplib::Error::Canceled) {
            return no_answer(endpoint_, error);
        }
        return result;
    }

  private:
    struct Attempt {
        httplib::Error error = httplib::Error::Success;
        HttpResponse response;
    };

    Attempt try_once(ClientPtr client, const HttpRequest& request,
                     std::chrono::milliseconds deadline) {
        client->set_connection_timeout(deadline);
        client->set_read_timeout(deadline);
        client->set_write_timeout(deadline);
        httplib::Request out = message(endpoint_, request);
        httplib::Response in;
        Attempt attempt;
        if (!client->send(out, in, attempt.error)) {
            if (attempt.error == httplib::Error::Success) attempt.error = httplib::Error::Unknown;
            return attempt;
        }
        attempt.error = httplib::Error::Success;
        attempt.response.status = in.status;
        attempt.response.body = std::move(in.body);
        give_back(std::move(client));
        return attempt;
    }

    // Null when none is good any more.
    ClientPtr take_idle() {
        std::vector<ClientPtr> dead;  // closed without the lock
        const std::scoped_lock lock(mutex_);
        while (!idle_.empty()) {
            ClientPtr client = std::move(idle_.back());
            idle_.pop_back();
            if (is_usable(*client)) return client;
            dead.push_back(std::move(client));
        }
        return nullptr;
    }

    void give_back(ClientPtr client) {
        const std::scoped_lock lock(mutex_);
        if (idle_.size() < kMaxIdle) idle_.push_back(std::move(client));
    }

    static constexpr std::size_t kMaxIdle = 32;

    const HttpEndpoint endpoint_;
    std::mutex mutex_;
    std::vector<ClientPtr> idle_;  // guarded by mutex_
};

HttpClient::HttpClient(HttpEndpoint endpoint)
    : impl_(std::make_unique<Impl>(std::move(endpoint))) {}
HttpClient::~HttpClient() = default;

Result<HttpResponse> HttpClient::send(const HttpRequest& request,
                                      std::chrono::milliseconds deadline) {
    return impl_->send(request, deadline);
}

Result<HttpResponse> HttpClient::stream(const std::string& path,
                                        const std::function<bool(std::string_view)>& on_data,
                                        std::chrono::seconds idle, const std::stop_token& stop) {
    return impl_->stream(path, on_data, idle, stop);
}

}  // namespace tessera
