#include "adapters/http/server_url.hpp"

#include <gtest/gtest.h>

namespace tessera {
namespace {

TEST(ServerUrl, NamesTheServer) {
    struct Case {
        const char* url;
        const char* host;
        int port;
        bool tls;
        const char* prefix;
    };
    for (const Case& c : std::initializer_list<Case>{
             {"https://10.0.0.1:6443", "10.0.0.1", 6443, true, ""},
             {"https://a.svc", "a.svc", 443, true, ""},
             {"http://a/", "a", 80, false, ""},
             {"http://a:8080/x/y//", "a", 8080, false, "/x/y"},
             {"https://[::1]:1", "::1", 1, true, ""},
             {"https://[::1]", "::1", 443, true, ""},
         }) {
        const auto server = parse_server_url(c.url);
        ASSERT_TRUE(server) << c.url;
        EXPECT_EQ(server->host, c.host);
        EXPECT_EQ(server->port, c.port);
        EXPECT_EQ(server->tls, c.tls);
        EXPECT_EQ(server->path_prefix, c.prefix);
    }
}

TEST(ServerUrl, RefusesWhatIsNoServer) {
    for (const char* url :
         {"", "a", "ftp://a", "https://", "https://:1", "https://a:0", "https://a:65536",
          "https://a:x", "https://a:1x", "https://a:", "https://a/?x=1", "https://a#b"}) {
        const auto server = parse_server_url(url);
        ASSERT_FALSE(server) << url;
        EXPECT_EQ(server.error().code, Code::invalid_argument);
        EXPECT_NE(server.error().text.find(std::string("server \"") + url), std::string::npos);
    }
}

}  // namespace
}  // namespace tessera
