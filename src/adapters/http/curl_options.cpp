#include "adapters/http/curl_options.hpp"

#include <fmt/format.h>

#include <csignal>
#include <mutex>

namespace tessera {
namespace {

bool is_loopback(const std::string& host) {
    return host == "localhost" || host == "::1" || host.starts_with("127.");
}

void set_blob(CURL* easy, CURLoption option, const std::string& text) {
    curl_blob blob{const_cast<char*>(text.data()), text.size(), CURL_BLOB_NOCOPY};
    set_option(easy, option, &blob);
}

}  // namespace

void append(List& list, const std::string& line) {
    list.reset(curl_slist_append(list.release(), line.c_str()));
}

void start_library() {
    static std::once_flag once;
    std::call_once(once, [] {
        // OpenSSL writes to sockets as to files, which raises SIGPIPE.
        std::signal(SIGPIPE, SIG_IGN);
        TESSERA_CHECK(curl_global_init(CURL_GLOBAL_DEFAULT) == CURLE_OK, "libcurl starts");
    });
}

std::string authority(const std::string& host, int port) {
    const bool v6 = host.find(':') != std::string::npos;
    return fmt::format("{}{}{}:{}", v6 ? "[" : "", host, v6 ? "]" : "", port);
}

std::string origin(const HttpEndpoint& endpoint) {
    return (endpoint.tls ? "https://" : "http://") + authority(endpoint.host, endpoint.port);
}

std::string server_name(const HttpEndpoint& endpoint) {
    return endpoint.tls_server_name.empty() ? endpoint.host : endpoint.tls_server_name;
}

void set_server(CURL* easy, const HttpEndpoint& endpoint, const HttpCredentials& credentials,
                List& connect_to) {
    if (server_name(endpoint) != endpoint.host) {
        connect_to.reset();
        append(connect_to, "::" + authority(endpoint.host, endpoint.port));
        set_option(easy, CURLOPT_CONNECT_TO, connect_to.get());
    }
    // Without a setting, libcurl uses the proxy of the environment, as kubectl does.
    if (is_loopback(endpoint.host)) set_option(easy, CURLOPT_PROXY, "");
    if (endpoint.is_direct) set_option(easy, CURLOPT_PROXY, "");
    if (!endpoint.proxy_url.empty()) set_option(easy, CURLOPT_PROXY, endpoint.proxy_url.c_str());
    if (!endpoint.tls) return;
    set_option(easy, CURLOPT_SSLVERSION, static_cast<long>(CURL_SSLVERSION_TLSv1_2));
    set_option(easy, CURLOPT_SSL_VERIFYPEER, endpoint.verify ? 1L : 0L);
    set_option(easy, CURLOPT_SSL_VERIFYHOST, endpoint.verify ? 2L : 0L);
    if (!endpoint.ca_pem.empty()) set_blob(easy, CURLOPT_CAINFO_BLOB, endpoint.ca_pem);
    if (credentials.client_cert_pem.empty()) return;
    set_blob(easy, CURLOPT_SSLCERT_BLOB, credentials.client_cert_pem);
    set_blob(easy, CURLOPT_SSLKEY_BLOB, credentials.client_key_pem);
}

}  // namespace tessera
