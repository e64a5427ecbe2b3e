#include "adapters/http/http_connection.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "adapters/http/curl_options.hpp"

namespace tessera {
namespace {

constexpr std::size_t kMostAtOnce = std::size_t{16} << 10;  // one record of TLS

}  // namespace

class HttpConnection::Impl {
  public:
    Impl(HttpEndpoint endpoint, HttpCredentials credentials)
        : endpoint_(std::move(endpoint)), credentials_(std::move(credentials)) {}

    Result<> connect(std::chrono::milliseconds deadline) {
        start_library();
        const std::string url = (endpoint_.tls ? "https://" : "http://") +
                                authority(server_name(endpoint_), endpoint_.port);
        std::array<char, CURL_ERROR_SIZE> error{};
        CURL* easy = easy_.get();
        set_option(easy, CURLOPT_ERRORBUFFER, error.data());
        set_option(easy, CURLOPT_NOSIGNAL, 1L);
        set_option(easy, CURLOPT_HTTP_VERSION, static_cast<long>(CURL_HTTP_VERSION_1_1));
        set_option(easy, CURLOPT_URL, url.c_str());
        set_option(easy, CURLOPT_CONNECT_ONLY, 1L);
        set_option(easy, CURLOPT_HTTPPROXYTUNNEL, 1L);
        set_option(easy, CURLOPT_CONNECTTIMEOUT_MS, static_cast<long>(deadline.count()));
        set_server(easy, endpoint_, credentials_, connect_to_);
        set_option(easy, CURLOPT_TCP_KEEPALIVE, 1L);
        const CURLcode code = curl_easy_perform(easy);
        set_option(easy, CURLOPT_ERRORBUFFER, static_cast<char*>(nullptr));
        if (code != CURLE_OK) {
            const char* why = error[0] != '\0' ? error.data() : curl_easy_strerror(code);
            return fail(Code::unavailable,
                        fmt::format("{} does not answer: {}", origin(endpoint_), why));
        }
        curl_easy_getinfo(easy, CURLINFO_ACTIVESOCKET, &socket_);
        return {};
    }

    Result<std::size_t> done(CURLcode code, std::size_t size) const {
        if (code == CURLE_AGAIN) return std::size_t{0};
        if (code == CURLE_OK && size > 0) return size;
        return fail(Code::unavailable,
                    fmt::format("{} has closed the connection", origin(endpoint_)));
    }

    const HttpEndpoint endpoint_;
    const HttpCredentials credentials_;
    Easy easy_{curl_easy_init()};
    List connect_to_;
    // OpenSSL refuses a write that is repeated from another place, or with another length.
    std::string pending_;
    curl_socket_t socket_ = CURL_SOCKET_BAD;
};

HttpConnection::HttpConnection(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
HttpConnection::~HttpConnection() = default;

Result<std::unique_ptr<HttpConnection>> HttpConnection::open(const HttpEndpoint& endpoint,
                                                             HttpCredentials credentials,
                                                             std::chrono::milliseconds deadline) {
    auto impl = std::make_unique<Impl>(endpoint, std::move(credentials));
    TRY_VOID(impl->connect(deadline));
    return std::unique_ptr<HttpConnection>(new HttpConnection(std::move(impl)));
}

int HttpConnection::fd() const {
    return impl_->socket_;
}

Result<std::size_t> HttpConnection::read_some(char* data, std::size_t size) {
    std::size_t got = 0;
    const CURLcode code = curl_easy_recv(impl_->easy_.get(), data, size, &got);
    return impl_->done(code, got);
}

Result<std::size_t> HttpConnection::write_some(const char* data, std::size_t size) {
    std::string& pending = impl_->pending_;
    if (pending.empty()) pending.assign(data, std::min(size, kMostAtOnce));
    std::size_t sent = 0;
    const CURLcode code = curl_easy_send(impl_->easy_.get(), pending.data(), pending.size(), &sent);
    if (code != CURLE_AGAIN) pending.clear();
    return impl_->done(code, sent);
}

const std::string& HttpConnection::authorization() const {
    return impl_->credentials_.authorization;
}

const HttpEndpoint& HttpConnection::endpoint() const {
    return impl_->endpoint_;
}

}  // namespace tessera
