#include "adapters/kubeconfig/exec_plugin.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <optional>
#include <utility>

#include "adapters/kubeconfig/kubeconfig_yaml.hpp"
#include "adapters/os/command.hpp"
#include "adapters/os/text_file.hpp"
#include "base/mutex.hpp"
#include "wire/kube/exec_credential_json.hpp"
#include "wire/text/base64.hpp"
#include "wire/text/json.hpp"

namespace tessera {
namespace {

constexpr std::string_view kV1 = "client.authentication.k8s.io/v1";
constexpr std::string_view kV1Beta1 = "client.authentication.k8s.io/v1beta1";
// The name of the extension of a cluster that holds a plugin's settings.
constexpr const char* kExtension = "client.authentication.k8s.io/exec";
// Of a program that cannot ask the user. One that can waits for the user as long as it likes.
constexpr std::chrono::seconds kDeadline{60};
constexpr std::size_t kMostConfig = 65'536;  // bytes of JSON: aliases of aliases grow without limit

tl::unexpected<Error> bad(std::string text) {
    return fail(Code::invalid_argument, "kubeconfig: exec: " + std::move(text));
}

// Whether JSON knows the scalar by itself. "?" is the tag of a scalar without quotes.
bool is_plain(const YAML::Node& node) {
    if (node.Tag() != "?") return false;
    return JsonDocument::parse("[" + node.Scalar() + "]").has_value();
}

// Appends the value as JSON; false if it is too large.
bool append_json(std::string& out, const YAML::Node& node) {
    if (out.size() > kMostConfig) return false;
    if (!node.IsDefined() || node.IsNull()) {
        out += "null";
        return true;
    }
    if (node.IsScalar()) {
        out += is_plain(node) ? node.Scalar() : json_string(node.Scalar());
        return true;
    }
    out += node.IsMap() ? '{' : '[';
    bool is_first = true;
    for (const auto& item : node) {
        if (!std::exchange(is_first, false)) out += ',';
        if (node.IsMap()) out += json_string(item.first.Scalar()) + ':';
        if (!append_json(out, node.IsMap() ? item.second : YAML::Node(item))) return false;
    }
    out += node.IsMap() ? '}' : ']';
    return true;
}

Result<ExecCluster> cluster_info(const YAML::Node& cluster, const std::string& directory) {
    ExecCluster out{
        .server = text_of(cluster, "server"),
        .tls_server_name = text_of(cluster, "tls-server-name"),
        .insecure_skip_tls_verify = text_of(cluster, "insecure-skip-tls-verify") == "true",
        .ca_base64 = text_of(cluster, "certificate-authority-data"),
        .proxy_url = text_of(cluster, "proxy-url"),
        .config_json = {}};
    const std::string path = text_of(cluster, "certificate-authority");
    if (out.ca_base64.empty() && !path.empty()) {
        TRY(const std::string pem,
            read_text_file((std::filesystem::path(directory) / path).string()));
        out.ca_base64 = encode_base64(pem);
    }
    for (const YAML::Node& item : cluster["extensions"]) {
        if (text_of(item, "name") != kExtension) continue;
        if (!append_json(out.config_json, item["extension"])) {
            return bad(fmt::format("the cluster's extension {} has more than {} bytes", kExtension,
                                   kMostConfig));
        }
    }
    return out;
}

struct Settings {
    Command command;
    std::string api_version;
    std::string install_hint;
};

class ExecPlugin final : public HttpCredentialSource {
  public:
    explicit ExecPlugin(Settings settings) : settings_(std::move(settings)) {}

    // Other threads wait meanwhile: the user is asked once.
    Result<HttpCredentials> get() override {
        const MutexLock lock(mutex_);
        if (!is_good()) TRY_VOID(run());
        return current_;
    }

    void refused(const HttpCredentials& credentials) override {
        const MutexLock lock(mutex_);
        const bool is_current = credentials.authorization == current_.authorization &&
                                credentials.client_cert_pem == current_.client_cert_pem;
        if (is_current) has_any_ = false;
    }

  private:
    [[nodiscard]] bool is_good() const TESSERA_REQUIRES(mutex_) {
        const auto now = std::chrono::floor<std::chrono::seconds>(
            std::chrono::system_clock::now().time_since_epoch());
        return has_any_ && (!expires_s_ || now.count() < *expires_s_);
    }

    // All errors are "unavailable": whatever the program's trouble is, a later try may help, and
    // the server has refused nothing.
    Result<> run() TESSERA_REQUIRES(mutex_) {
        const auto output = run_command(settings_.command);
        if (!output) {
            const bool has_hint =
                output.error().code == Code::not_found && !settings_.install_hint.empty();
            return no_credentials(output.error().text +
                                  (has_hint ? "; " + settings_.install_hint : ""));
        }
        const auto read = read_exec_credential(*output, settings_.api_version);
        if (!read) return no_credentials("the output of " + program() + ": " + read.error().text);
        HttpEndpoint endpoint;
        endpoint.client_cert_pem = read->client_cert_pem;
        endpoint.client_key_pem = read->client_key_pem;
        const auto usable = check_credentials(endpoint);
        if (!usable)
            return no_credentials("the output of " + program() + ": " + usable.error().text);
        current_ = {.authorization = read->token.empty() ? "" : "Bearer " + read->token,
                    .client_cert_pem = read->client_cert_pem,
                    .client_key_pem = read->client_key_pem};
        expires_s_ = read->expires_s;
        has_any_ = true;
        return {};
    }

    [[nodiscard]] const std::string& program() const { return settings_.command.program; }

    static tl::unexpected<Error> no_credentials(const std::string& text) {
        return fail(Code::unavailable, "kubeconfig: exec: " + text);
    }

    const Settings settings_;
    Mutex mutex_;
    bool has_any_ TESSERA_GUARDED_BY(mutex_) = false;
    HttpCredentials current_ TESSERA_GUARDED_BY(mutex_);
    std::optional<std::int64_t> expires_s_ TESSERA_GUARDED_BY(mutex_);
};

// client-go requires the field from v1 on.
Result<bool> is_interactive(const YAML::Node& exec, std::string_view api_version) {
    std::string mode = text_of(exec, "interactiveMode");
    if (mode.empty() && api_version == kV1Beta1) mode = "IfAvailable";
    const bool has_terminal = ::isatty(STDIN_FILENO) == 1;
    if (mode == "Never") return false;
    if (mode == "IfAvailable") return has_terminal;
    if (mode != "Always") {
        return bad(
            fmt::format("interactiveMode: \"{}\" is not Never, IfAvailable or Always", mode));
    }
    if (has_terminal) return true;
    return bad("interactiveMode: Always, but standard input is not a terminal");
}

Result<Command> command_of(const YAML::Node& exec, const std::string& directory) {
    Command out;
    out.program = text_of(exec, "command");
    if (out.program.empty()) return bad("command: is missing");
    const bool is_path = out.program.find('/') != std::string::npos;
    if (is_path) out.program = (std::filesystem::path(directory) / out.program).string();
    for (const YAML::Node& argument : exec["args"])
        out.arguments.push_back(argument.Scalar());
    for (const YAML::Node& variable : exec["env"]) {
        const std::string name = text_of(variable, "name");
        const bool is_name = !name.empty() && name.find('=') == std::string::npos;
        if (!is_name) return bad(fmt::format("env: \"{}\" is not the name of a variable", name));
        out.environment.emplace_back(name, text_of(variable, "value"));
    }
    return out;
}

}  // namespace

Result<std::shared_ptr<HttpCredentialSource>> exec_plugin(const YAML::Node& exec,
                                                          const YAML::Node& cluster,
                                                          const std::string& directory) {
    Settings out;
    TRY(out.command, command_of(exec, directory));
    out.api_version = text_of(exec, "apiVersion");
    if (out.api_version != kV1 && out.api_version != kV1Beta1) {
        return bad(
            fmt::format("apiVersion: \"{}\" is not {} or {}; write the kubeconfig again "
                        "with a newer version of your provider's tool",
                        out.api_version, kV1, kV1Beta1));
    }
    out.install_hint = text_of(exec, "installHint");
    TRY(out.command.interactive, is_interactive(exec, out.api_version));
    if (!out.command.interactive) out.command.deadline = kDeadline;
    std::optional<ExecCluster> info;
    if (text_of(exec, "provideClusterInfo") == "true") {
        TRY(info, cluster_info(cluster, directory));
    }
    out.command.environment.emplace_back(
        "KUBERNETES_EXEC_INFO", write_exec_info(out.api_version, out.command.interactive, info));
    return std::make_shared<ExecPlugin>(std::move(out));
}

}  // namespace tessera
