#include "adapters/kubeconfig/kubeconfig.hpp"

#include <fmt/format.h>
#include <yaml-cpp/yaml.h>

#include <cstdlib>
#include <filesystem>

#include "adapters/http/server_url.hpp"
#include "adapters/kubeconfig/credential_sources.hpp"
#include "adapters/kubeconfig/exec_plugin.hpp"
#include "adapters/kubeconfig/kubeconfig_yaml.hpp"
#include "adapters/os/text_file.hpp"
#include "wire/text/base64.hpp"

namespace tessera {
namespace {

constexpr const char* kServiceAccount = "/var/run/secrets/kubernetes.io/serviceaccount";

tl::unexpected<Error> bad(std::string text) {
    return fail(Code::invalid_argument, std::move(text));
}

Result<std::string> read_file(const std::string& path) {
    auto text = read_text_file(path);
    if (!text) return bad(fmt::format("cannot be read: {}", text.error().text));
    return text;
}

// `key`-data inline, or the contents of the file that `key` names.
Result<std::string> pem_of(const YAML::Node& node, const std::string& key,
                           const std::string& directory) {
    const std::string data = text_of(node, (key + "-data").c_str());
    if (!data.empty()) {
        auto pem = decode_base64(data);
        if (!pem) return bad(fmt::format("kubeconfig: {}-data is not base64", key));
        return *std::move(pem);
    }
    const std::string path = text_of(node, key.c_str());
    if (path.empty()) return std::string();
    return read_file((std::filesystem::path(directory) / path).string());
}

struct Parsed {
    YAML::Node root;
    std::string directory;
};

Result<std::vector<Parsed>> parse(const std::vector<KubeconfigText>& files) {
    std::vector<Parsed> out;
    for (const KubeconfigText& file : files) {
        const std::string which = files.size() > 1 ? file.name + ": " : "";
        try {
            out.push_back({YAML::Load(file.text), file.directory});
        } catch (const YAML::Exception& error) {
            return bad(fmt::format("{}kubeconfig: {}", which, error.what()));
        }
        // kubectl creates an empty file at the first `kubectl config`.
        if (out.back().root.IsNull() && files.size() > 1) {
            out.pop_back();
            continue;
        }
        if (!out.back().root.IsMap()) {
            return bad(which + "kubeconfig: is empty or not a mapping");
        }
    }
    if (out.empty()) return bad("kubeconfig: all files are empty");
    return out;
}

// The value of `member` in the entry `name` of a list, and the folder for its relative file names.
struct Entry {
    YAML::Node node;
    std::string directory;
};

Result<Entry> entry(const std::vector<Parsed>& files, const char* list, const std::string& name,
                    const char* member) {
    std::string names;
    for (const Parsed& file : files) {
        for (const YAML::Node& item : file.root[list]) {
            if (text_of(item, "name") == name && item[member]) {
                return Entry{item[member], file.directory};
            }
            names += " " + text_of(item, "name");
        }
    }
    return bad(fmt::format("kubeconfig: no {} called \"{}\"; there is{}", member, name,
                           names.empty() ? " none" : ":" + names));
}

Result<> check_proxy(const std::string& url) {
    for (const std::string_view scheme : {"http://", "https://", "socks5://"}) {
        if (url.starts_with(scheme) && url.size() > scheme.size()) return {};
    }
    return bad(fmt::format(
        "kubeconfig: proxy-url \"{}\" is not the address of an http, https or socks5 proxy", url));
}

Result<HttpEndpoint> read_cluster(const YAML::Node& cluster, const std::string& directory) {
    auto server = parse_server_url(text_of(cluster, "server"));
    if (!server) return fail(server.error().in("kubeconfig"));
    HttpEndpoint endpoint = *std::move(server);
    endpoint.proxy_url = text_of(cluster, "proxy-url");
    if (!endpoint.proxy_url.empty()) TRY_VOID(check_proxy(endpoint.proxy_url));
    TRY(endpoint.ca_pem, pem_of(cluster, "certificate-authority", directory));
    endpoint.tls_server_name = text_of(cluster, "tls-server-name");
    endpoint.verify = text_of(cluster, "insecure-skip-tls-verify") != "true";
    return endpoint;
}

// `cluster`: the entry of the cluster that the user logs in to.
Result<> read_user(const YAML::Node& user, const YAML::Node& cluster, const std::string& directory,
                   HttpEndpoint& endpoint) {
    TRY(endpoint.client_cert_pem, pem_of(user, "client-certificate", directory));
    TRY(endpoint.client_key_pem, pem_of(user, "client-key", directory));
    if (endpoint.client_cert_pem.empty() != endpoint.client_key_pem.empty()) {
        return bad("kubeconfig: client-certificate and client-key belong together; one is missing");
    }
    const std::string token = text_of(user, "token");
    const std::string token_file = text_of(user, "tokenFile");
    const std::string name = text_of(user, "username");
    if (user["auth-provider"]) {
        return bad(
            "kubeconfig: auth-provider was removed from Kubernetes in 1.26; write the kubeconfig "
            "again with your provider's tool, which uses exec");
    }
    if (!token.empty()) {
        endpoint.credentials = fixed_authorization("Bearer " + token);
    } else if (!token_file.empty()) {
        endpoint.credentials =
            token_from_file((std::filesystem::path(directory) / token_file).string());
    } else if (!name.empty()) {
        endpoint.credentials =
            fixed_authorization("Basic " + encode_base64(name + ":" + text_of(user, "password")));
    } else if (user["exec"]) {
        TRY(endpoint.credentials, exec_plugin(user["exec"], cluster, directory));
    }
    return {};
}

Result<KubeConnection> in_cluster(const std::string& host) {
    KubeConnection out;
    const char* port = std::getenv("KUBERNETES_SERVICE_PORT");
    out.endpoint.host = host;
    out.endpoint.port = port != nullptr ? std::atoi(port) : 443;
    TRY(out.endpoint.ca_pem, read_file(std::string(kServiceAccount) + "/ca.crt"));
    out.endpoint.credentials = token_from_file(std::string(kServiceAccount) + "/token");
    auto ns = read_file(std::string(kServiceAccount) + "/namespace");
    out.ns = ns ? *ns : "default";
    const auto usable = check_credentials(out.endpoint);
    if (!usable) return fail(usable.error().in(kServiceAccount));
    return out;
}

}  // namespace

Result<KubeConnection> read_kubeconfig(const std::vector<KubeconfigText>& files,
                                       const std::string& context) {
    TRY(const std::vector<Parsed> parsed, parse(files));
    try {
        std::string name = context;
        for (const Parsed& file : parsed) {
            if (name.empty()) name = text_of(file.root, "current-context");
        }
        if (name.empty()) {
            return bad(
                "kubeconfig: no current-context; choose one with --context, or kubectl config "
                "use-context NAME");
        }
        TRY(const Entry chosen, entry(parsed, "contexts", name, "context"));
        TRY(const Entry cluster,
            entry(parsed, "clusters", text_of(chosen.node, "cluster"), "cluster"));
        TRY(const Entry user, entry(parsed, "users", text_of(chosen.node, "user"), "user"));
        KubeConnection out;
        TRY(out.endpoint, read_cluster(cluster.node, cluster.directory));
        TRY_VOID(read_user(user.node, cluster.node, user.directory, out.endpoint));
        out.ns = text_of(chosen.node, "namespace");
        if (out.ns.empty()) out.ns = "default";
        return out;
    } catch (const YAML::Exception& error) {
        return bad(fmt::format("kubeconfig: {}", error.what()));
    }
}

namespace {

// A file that cannot be accessed (a folder without permission, a name that is too long) counts as
// existing, so that reading it reports the error. The library's exists() throws.
bool is_missing(const std::string& path) {
    std::error_code error;
    return std::filesystem::status(path, error).type() == std::filesystem::file_type::not_found;
}

Result<KubeconfigText> read_one(const std::string& path) {
    TRY(std::string text, read_file(path));
    return KubeconfigText{std::move(text), std::filesystem::path(path).parent_path().string(),
                          path};
}

// Of a list in the form of $KUBECONFIG: the files that exist, as kubectl does it.
Result<std::vector<KubeconfigText>> read_listed(const std::string& list) {
    std::vector<KubeconfigText> out;
    for (std::size_t begin = 0; begin <= list.size();) {
        const std::size_t end = std::min(list.find(':', begin), list.size());
        const std::string path = list.substr(begin, end - begin);
        begin = end + 1;
        if (path.empty() || is_missing(path)) continue;
        TRY(KubeconfigText file, read_one(path));
        out.push_back(std::move(file));
    }
    if (out.empty()) {
        return bad(
            fmt::format("no kubeconfig: none of KUBECONFIG={} exists; correct it, or give "
                        "--kubeconfig FILE",
                        list));
    }
    return out;
}

Result<KubeConnection> connect_by(const std::vector<KubeconfigText>& files,
                                  const std::string& context) {
    std::string names;
    for (const KubeconfigText& file : files)
        names += (names.empty() ? "" : ":") + file.name;
    auto connection = read_kubeconfig(files, context);
    if (!connection) return fail(connection.error().in(names));
    const auto usable = check_credentials(connection->endpoint);
    if (!usable) return fail(usable.error().in(names + ": kubeconfig"));
    return connection;
}

}  // namespace

Result<KubeConnection> connect_info(const KubeConfigOptions& options) {
    std::string path = options.path;
    if (path.empty()) {
        const char* list = std::getenv("KUBECONFIG");
        if (list != nullptr && *list != '\0') {
            TRY(const auto files, read_listed(list));
            return connect_by(files, options.context);
        }
        const char* host = std::getenv("KUBERNETES_SERVICE_HOST");
        if (host != nullptr && !is_missing(std::string(kServiceAccount) + "/token")) {
            return in_cluster(host);
        }
        const char* home = std::getenv("HOME");
        path = std::string(home != nullptr ? home : "") + "/.kube/config";
        if (is_missing(path)) {
            return bad(
                fmt::format("no kubeconfig: {} does not exist; set KUBECONFIG or give --kubeconfig "
                            "FILE",
                            path));
        }
    }
    TRY(KubeconfigText file, read_one(path));
    return connect_by({std::move(file)}, options.context);
}

}  // namespace tessera
