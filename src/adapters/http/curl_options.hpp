// Options of libcurl that every connection to an HttpEndpoint has. http.hpp describes the endpoint.
#pragma once

#include <curl/curl.h>

#include <memory>
#include <string>

#include "adapters/http/http.hpp"
#include "base/check.hpp"

namespace tessera {

struct EasyDeleter {
    void operator()(CURL* easy) const { curl_easy_cleanup(easy); }
};
struct ListDeleter {
    void operator()(curl_slist* list) const { curl_slist_free_all(list); }
};
using Easy = std::unique_ptr<CURL, EasyDeleter>;
using List = std::unique_ptr<curl_slist, ListDeleter>;

void append(List& list, const std::string& line);

template <typename Value>
void set_option(CURL* easy, CURLoption option, Value value) {
    const CURLcode code = curl_easy_setopt(easy, option, value);
    TESSERA_CHECK(code == CURLE_OK, "libcurl knows the option");
}

// Once per process, before any other use of libcurl. The process ignores SIGPIPE from then on.
void start_library();

// "host:port", with brackets around an IPv6 address.
std::string authority(const std::string& host, int port);
// "https://host:port"
std::string origin(const HttpEndpoint& endpoint);
// The name that the server's certificate must have.
std::string server_name(const HttpEndpoint& endpoint);

// The address, the proxy, and TLS. The endpoint, the credentials and `connect_to`, which is set
// here, must outlive the transfer.
void set_server(CURL* easy, const HttpEndpoint& endpoint, const HttpCredentials& credentials,
                List& connect_to);

}  // namespace tessera
