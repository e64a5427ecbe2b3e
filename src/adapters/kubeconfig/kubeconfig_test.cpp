#include "adapters/kubeconfig/kubeconfig.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "adapters/http/tls_server_test.hpp"

namespace tessera {
namespace {

constexpr std::string_view kText = R"(
apiVersion: v1
kind: Config
current-context: main
contexts:
- name: main
  context: {cluster: c1, user: u1, namespace: team-a}
- name: other
  context: {cluster: c2, user: u2}
clusters:
- name: c1
  cluster:
    server: https://10.0.0.1:6443
    certificate-authority-data: Q0E=
- name: c2
  cluster: {server: "http://[::1]:8080/path", insecure-skip-tls-verify: true}
users:
- name: u1
  user: {client-certificate-data: Q0VSVA==, client-key-data: S0VZ}
- name: u2
  user: {token: secret}
)";

std::string with(std::string_view from, std::string_view to) {
    std::string text(kText);
    const std::size_t at = text.find(from);
    EXPECT_NE(at, std::string::npos) << from;
    return text.replace(at, from.size(), to);
}

Result<KubeConnection> read(const std::string& text, const std::string& context = "") {
    return read_kubeconfig({{text, "/", "config"}}, context);
}

// Goal: the current context, or the requested one, with everything that belongs to it.
TEST(Kubeconfig, ReadsContexts) {
    const auto main = read(std::string(kText));
    ASSERT_TRUE(main) << main.error().text;
    EXPECT_EQ(main->endpoint.host, "10.0.0.1");
    EXPECT_EQ(main->endpoint.port, 6443);
    EXPECT_TRUE(main->endpoint.tls);
    EXPECT_TRUE(main->endpoint.verify);
    EXPECT_EQ(main->endpoint.ca_pem, "CA");
    EXPECT_EQ(main->endpoint.client_cert_pem, "CERT");
    EXPECT_EQ(main->endpoint.client_key_pem, "KEY");
    EXPECT_EQ(main->ns, "team-a");

    const auto other = read(std::string(kText), "other");
    ASSERT_TRUE(other) << other.error().text;
    EXPECT_EQ(other->endpoint.host, "::1");
    EXPECT_EQ(other->endpoint.port, 8080);
    EXPECT_FALSE(other->endpoint.tls);
    EXPECT_FALSE(other->endpoint.verify);
    ASSERT_TRUE(other->endpoint.credentials);
    EXPECT_EQ(other->endpoint.credentials->get()->authorization, "Bearer secret");
    EXPECT_EQ(other->ns, "default");
}

// Goal: ports are optional, with a default by scheme; a path is a prefix of every request.
TEST(Kubeconfig, Servers) {
    struct Case {
        std::string url;
        std::string host;
        int port;
        std::string prefix;
    };
    const std::vector<Case> cases = {
        {"https://k8s.example", "k8s.example", 443, ""},
        {"http://k8s.example/", "k8s.example", 80, ""},
        {"https://k8s.example:1/a:b", "k8s.example", 1, "/a:b"},
        {"https://rancher.example/k8s/clusters/c-1/", "rancher.example", 443, "/k8s/clusters/c-1"},
        {"https://[fd00::1]", "fd00::1", 443, ""},
        {"https://[fd00::1]:6443", "fd00::1", 6443, ""},
        {"https://[fd00::1]/p", "fd00::1", 443, "/p"}};
    for (const Case& c : cases) {
        const auto found = read(with("https://10.0.0.1:6443", c.url));
        ASSERT_TRUE(found) << found.error().text;
        EXPECT_EQ(found->endpoint.host, c.host) << c.url;
        EXPECT_EQ(found->endpoint.port, c.port) << c.url;
        EXPECT_EQ(found->endpoint.path_prefix, c.prefix) << c.url;
    }
}

// Goal: every mistake is named, with the fix if there is one; nothing is guessed. Method: the
// correct text with one mistake.
TEST(Kubeconfig, RefusesWrongText) {
    struct Case {
        std::string text;
        std::string part;
    };
    const std::vector<Case> cases = {
        {"", "is empty or not a mapping"},
        {"- a", "is empty or not a mapping"},
        {"{", "kubeconfig: "},
        {"a: [", "kubeconfig: "},
        {"\x01", "kubeconfig: "},
        {"a: 1", "no current-context"},
        {with("current-context: main", "current-context: [main]"), "no current-context"},
        {with("current-context: main", "current-context: typo"), "\"typo\"; there is: main other"},
        {"current-context: main", "there is none"},
        {with("contexts:", "contexts: 7\nx:"), "no context called"},
        {with("cluster: c1,", "cluster: nope,"), "no cluster called \"nope\"; there is: c1 c2"},
        {with("user: u1,", ""), "no user called \"\""},
        {with("https://10.0.0.1:6443", "ftp://x"), "is not an http or https address"},
        {with("    server: https://10.0.0.1:6443\n", ""), "is not an http or https address"},
        {with("https://10.0.0.1:6443", "https://"), "no host or a wrong port"},
        {with("https://10.0.0.1:6443", "https://a:0"), "no host or a wrong port"},
        {with("https://10.0.0.1:6443", "https://a:65536"), "no host or a wrong port"},
        {with("https://10.0.0.1:6443", "https://a:x"), "no host or a wrong port"},
        {with("https://10.0.0.1:6443", "https://a/?x=1"), "has a query"},
        {with("    certificate-authority-data: Q0E=", "    proxy-url: ftp://b:1"),
         "proxy-url \"ftp://b:1\" is not the address of an http, https or socks5 proxy"},
        {with("Q0E=", "Q0E"), "certificate-authority-data is not base64"},
        {with("Q0VSVA==", "Q0VSVA="), "client-certificate-data is not base64"},
        {with(", client-key-data: S0VZ", ""), "belong together"},
        {with("client-key-data: S0VZ", "client-key: /nonexistent/key"), "/nonexistent/key"},
        {with("{client-certificate-data: Q0VSVA==, client-key-data: S0VZ}",
              "{exec: {command: aws}}"),
         "kubeconfig: exec: apiVersion: \"\" is not client.authentication.k8s.io/v1"},
        {with("{client-certificate-data: Q0VSVA==, client-key-data: S0VZ}",
              "{auth-provider: {name: gcp}}"),
         "auth-provider was removed from Kubernetes in 1.26"},
        {with("- name: u1", "- 7\n- name: u1"), "kubeconfig: "},
    };
    for (const Case& c : cases) {
        const auto found = read(c.text);
        ASSERT_FALSE(found) << c.text;
        EXPECT_EQ(found.error().code, Code::invalid_argument);
        EXPECT_NE(found.error().text.find(c.part), std::string::npos) << found.error().text;
    }
    EXPECT_FALSE(read(std::string(kText), "nope"));
}

// Goal: for a server whose certificate names another host, that name is checked.
TEST(Kubeconfig, TlsServerName) {
    const auto found =
        read(with("    certificate-authority-data: Q0E=", "    tls-server-name: api.example"));
    ASSERT_TRUE(found) << found.error().text;
    EXPECT_EQ(found->endpoint.tls_server_name, "api.example");
}

// Goal: the proxy of the cluster, and the user's name and password.
TEST(Kubeconfig, ProxyAndPassword) {
    std::string text = with("    certificate-authority-data: Q0E=", "    proxy-url: socks5://b:1");
    const std::string user = "{client-certificate-data: Q0VSVA==, client-key-data: S0VZ}";
    text.replace(text.find(user), user.size(), "{username: me, password: secret}");
    const auto found = read(text);
    ASSERT_TRUE(found) << found.error().text;
    EXPECT_EQ(found->endpoint.proxy_url, "socks5://b:1");
    EXPECT_EQ(found->endpoint.credentials->get()->authorization, "Basic bWU6c2VjcmV0");
}

// Goal: several files are merged as kubectl does: the first value wins, and relative names start at
// the folder of their file.
TEST(Kubeconfig, SeveralFiles) {
    const std::string clusters =
        "clusters: [{name: c, cluster: {server: 'https://a:1', certificate-authority: ca}}]";
    const std::string first =
        "{current-context: x, contexts: [{name: x, context: {cluster: c, "
        "user: u}}]}";
    const std::string later =
        "current-context: y\nusers: [{name: u, user: {token: t}}]\n"
        "contexts: [{name: x, context: {cluster: nope, user: u}}]\n" +
        clusters;
    const auto found =
        read_kubeconfig({{first, "/first", "one"}, {later, "/nonexistent", "two"}}, "");
    ASSERT_FALSE(found);
    EXPECT_NE(found.error().text.find("/nonexistent/ca"), std::string::npos) << found.error().text;
    const auto wrong = read_kubeconfig({{first, "/", "one"}, {"- x", "/", "two"}}, "");
    EXPECT_EQ(wrong.error().text, "two: kubeconfig: is empty or not a mapping");
    const auto with_empty = read_kubeconfig({{"", "/", "none"}, {"- x", "/", "two"}}, "");
    EXPECT_EQ(with_empty.error().text, "two: kubeconfig: is empty or not a mapping");
    const auto all_empty = read_kubeconfig({{"", "/", "one"}, {"# none", "/", "two"}}, "");
    EXPECT_EQ(all_empty.error().text, "kubeconfig: all files are empty");
}

class KubeconfigFiles : public ::testing::Test {
  protected:
    KubeconfigFiles() {
        std::filesystem::create_directories(folder_);
        if (const char* before = std::getenv("KUBECONFIG")) before_ = before;
    }
    ~KubeconfigFiles() override {
        std::filesystem::remove_all(folder_);
        if (before_.empty()) {
            unsetenv("KUBECONFIG");
        } else {
            setenv("KUBECONFIG", before_.c_str(), 1);
        }
    }
    void write(const std::string& name, const std::string& text) const {
        std::ofstream(folder_ / name) << text;
    }
    const std::filesystem::path folder_ =
        std::filesystem::temp_directory_path() / ("tessera-kubeconfig-" + std::to_string(getpid()));
    std::string before_;
};

// Goal: file names in a kubeconfig start at its own folder. A token file loses its line end and is
// read when a request needs it.
TEST_F(KubeconfigFiles, RelativeNames) {
    const std::string ca = Identity::make("ca", nullptr, "").certificate_pem();
    write("ca.pem", ca);
    write("token", "from-a-file\n");
    std::string text = with("certificate-authority-data: Q0E=", "certificate-authority: ca.pem");
    const std::string user = "{client-certificate-data: Q0VSVA==, client-key-data: S0VZ}";
    text.replace(text.find(user), user.size(), "{tokenFile: token}");
    write("config", text);
    const auto read = connect_info({.path = (folder_ / "config").string(), .context = ""});
    ASSERT_TRUE(read) << read.error().text;
    EXPECT_EQ(read->endpoint.ca_pem, ca);
    EXPECT_EQ(read->endpoint.credentials->get()->authorization, "Bearer from-a-file");
}

// Goal: the existing files of KUBECONFIG are used; if none exists, or one is wrong, it is named.
TEST_F(KubeconfigFiles, FromTheEnvironment) {
    write("good", with("current-context: main", "current-context: other"));
    write("bad", "- x");
    setenv("KUBECONFIG", ("/nonexistent:" + (folder_ / "good").string() + ":/gone").c_str(), 1);
    EXPECT_TRUE(connect_info({}));
    setenv("KUBECONFIG", (folder_ / "bad").c_str(), 1);
    EXPECT_EQ(connect_info({}).error().text,
              (folder_ / "bad").string() + ": kubeconfig: is empty or not a mapping");
    setenv("KUBECONFIG", (folder_ / "missing").c_str(), 1);
    EXPECT_NE(connect_info({}).error().text.find("none of KUBECONFIG="), std::string::npos);
}

// Goal: a name that the system cannot look up is an error with that name, and no exception.
TEST_F(KubeconfigFiles, NamesThatCannotBeLookedUp) {
    const std::string too_long = "/" + std::string(300, 'x');
    write("loop", "");
    const std::string loop = (folder_ / "loop").string();
    std::filesystem::remove(loop);
    std::filesystem::create_symlink(loop, loop);
    for (const std::string& path : {too_long, loop, loop + "/config"}) {
        setenv("KUBECONFIG", path.c_str(), 1);
        const auto read = connect_info({});
        ASSERT_FALSE(read);
        EXPECT_NE(read.error().text.find(path), std::string::npos) << read.error().text;
        EXPECT_FALSE(connect_info({.path = path, .context = ""}));
    }
}

// Goal: a certificate that cannot be used is an error at once, with the file and the field. The
// call is not made without it.
TEST_F(KubeconfigFiles, BrokenCredentials) {
    write("config", std::string(kText));
    EXPECT_TRUE(connect_info({.path = (folder_ / "config").string(), .context = ""})
                    .error()
                    .text.starts_with((folder_ / "config").string() +
                                      ": kubeconfig: certificate-authority: "));
    write("config", with("    certificate-authority-data: Q0E=\n", ""));
    EXPECT_TRUE(connect_info({.path = (folder_ / "config").string(), .context = ""})
                    .error()
                    .text.starts_with((folder_ / "config").string() +
                                      ": kubeconfig: client-certificate: "));
}

}  // namespace
}  // namespace tessera
