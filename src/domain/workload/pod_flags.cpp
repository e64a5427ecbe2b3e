#include "domain/workload/pod_flags.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/ascii.hpp"
#include "base/dns_name.hpp"
#include "base/quantity.hpp"
#include "domain/workload/refuse_flag.hpp"
#include "domain/workload/shell_text.hpp"

namespace tessera::workload {
namespace {

constexpr auto kPullPolicies = std::to_array<std::string_view>({"Always", "IfNotPresent", "Never"});
constexpr auto kEffects =
    std::to_array<std::string_view>({"NoSchedule", "PreferNoSchedule", "NoExecute"});
// The resources that other flags request.
constexpr auto kOwnResources = std::to_array<std::pair<std::string_view, std::string_view>>(
    {{"nvidia.com/gpu", "--gpus"},
     {"tessera.dev/gpu", "--gpus"},
     {"tessera.dev/gpu-share", "--gpumemory"},
     {"tessera.dev/gpu-memory", "--gpumemory"},
     {"aliyun.com/gpu-mem", "--gpumemory"},
     {"tessera.dev/gpu-cores", "--gpucore"},
     {"aliyun.com/gpu-core.percentage", "--gpucore"}});

tl::unexpected<Error> refuse(std::string_view flag, std::string_view text, std::string_view what) {
    return workload::refuse(flag, fmt::format("\"{}\" {}", text, what));
}

// The rule for names of environment variables (Kubernetes: IsEnvVarName).
bool is_variable_name(std::string_view text) {
    const auto is_part = [](char c) { return is_alnum(c) || c == '_' || c == '-' || c == '.'; };
    return !text.empty() && !is_digit(text[0]) && std::ranges::all_of(text, is_part);
}

bool is_folder(std::string_view path) {
    return path.size() > 1 && path.starts_with('/') && path.find(':') == std::string_view::npos;
}

Result<std::pair<std::string, std::string>> name_and_path(std::string_view flag,
                                                          std::string_view text,
                                                          std::string_view example) {
    const std::size_t colon = text.find(':');
    if (colon == std::string_view::npos || !is_folder(text.substr(colon + 1))) {
        return refuse(flag, text,
                      fmt::format("is not a name and an absolute path, such as {}", example));
    }
    return std::pair(std::string(text.substr(0, colon)), std::string(text.substr(colon + 1)));
}

Result<> read_limits(const PodFlags& flags, PodTemplate& pod) {
    TRY_VOID(check_quantity("--cpu", flags.cpu));
    TRY_VOID(check_quantity("--memory", flags.memory));
    TRY_VOID(check_quantity("--share-memory", flags.share_memory));
    if (!flags.cpu.empty()) pod.limits["cpu"] = flags.cpu;
    if (!flags.memory.empty()) pod.limits["memory"] = flags.memory;
    for (const std::string& device : flags.devices) {
        TRY(const auto pair, parse_pair("--device", device));
        const auto own = std::ranges::find(kOwnResources, pair.first,
                                           &std::pair<std::string_view, std::string_view>::first);
        if (own != kOwnResources.end())
            return refuse("--device", device, fmt::format("is requested by {}", own->second));
        TRY_VOID(check_quantity("--device", pair.second));
        pod.limits[pair.first] = pair.second;
    }
    pod.shared_memory = flags.share_memory;
    return {};
}

Result<> add_variable(std::string_view flag, const std::string& text, bool is_secret,
                      std::vector<EnvVar>& out) {
    TRY(auto pair, parse_pair(flag, text));
    if (!is_variable_name(pair.first))
        return refuse(flag, text, "does not begin with the name of an environment variable");
    if (is_secret && !is_dns_name(pair.second))
        return refuse(flag, text, "does not name a Secret, as in HF_TOKEN=my-secret");
    EnvVar variable{.name = std::move(pair.first), .value = {}};
    (is_secret ? variable.secret : variable.value) = std::move(pair.second);
    // The last value counts, as in a shell.
    std::erase_if(out, [&](const EnvVar& other) { return other.name == variable.name; });
    out.push_back(std::move(variable));
    return {};
}

Result<> read_env(const PodFlags& flags, PodTemplate& pod) {
    for (const std::string& text : flags.env)
        TRY_VOID(add_variable("--env", text, false, pod.env));
    for (const std::string& text : flags.env_from_secret)
        TRY_VOID(add_variable("--env-from-secret", text, true, pod.env));
    return {};
}

// Whether a value of --device may be a GPU, such as nvidia.com/mig-1g.10gb=1.
bool is_gpu_device(std::string_view text) {
    return text.starts_with("nvidia.com/") || text.find("gpu") < text.find('=');
}

// Images with CUDA set this variable to "all", and the container runtime would show such a
// container every GPU of the node. Where something else gives the container a GPU, it sets the
// variable.
void hide_gpus(const PodFlags& flags, PodTemplate& pod) {
    constexpr std::string_view kVisibleDevices = "NVIDIA_VISIBLE_DEVICES";
    const bool has_gpus = pod.gpus != Gpus{} || std::ranges::any_of(flags.devices, is_gpu_device);
    const bool is_set = std::ranges::find(pod.env, kVisibleDevices, &EnvVar::name) != pod.env.end();
    if (has_gpus || is_set) return;
    pod.env.push_back({.name = std::string(kVisibleDevices), .value = "void"});
}

Result<> read_claims(const PodFlags& flags, PodTemplate& pod) {
    for (const std::string& text : flags.data) {
        TRY(auto pair, name_and_path("--data", text, "models:/models"));
        if (!is_dns_name(pair.first))
            return refuse("--data", text, "does not begin with a PersistentVolumeClaim's name");
        pod.mounts.push_back({VolumeKind::claim, std::move(pair.first), std::move(pair.second)});
    }
    for (const std::string& text : flags.data_subpath_expr) {
        const std::size_t colon = std::min(text.find(':'), text.size());
        const auto mount = std::ranges::find(pod.mounts, text.substr(0, colon), &Mount::source);
        if (mount == pod.mounts.end() || colon + 1 >= text.size()) {
            return refuse("--data-subpath-expr", text,
                          "does not name a claim of --data and a path in it, as in models:v1");
        }
        mount->sub_path_expr = text.substr(colon + 1);
    }
    return {};
}

Result<> read_mounts(const PodFlags& flags, PodTemplate& pod) {
    TRY_VOID(read_claims(flags, pod));
    for (const std::string& text : flags.data_dir) {
        const std::size_t colon = text.find(':');
        const std::string host = text.substr(0, colon);
        const std::string path = colon == std::string::npos ? host : text.substr(colon + 1);
        if (!is_folder(host) || !is_folder(path)) {
            return refuse("--data-dir", text,
                          "is not an absolute path of the node, or two as in /data:/models");
        }
        pod.mounts.push_back({VolumeKind::host, host, path});
    }
    for (const std::string& text : flags.temp_dir) {
        TRY(auto pair, name_and_path("--temp-dir", text, "cache:/cache"));
        if (!is_dns_label(pair.first))
            return refuse("--temp-dir", text, "does not begin with a name of a-z, 0-9 and -");
        pod.mounts.push_back(
            {VolumeKind::temporary, std::move(pair.first), std::move(pair.second)});
    }
    return {};
}

Result<StringMap> read_pairs(std::string_view flag, const std::vector<std::string>& texts) {
    StringMap out;
    for (const std::string& text : texts) {
        TRY(auto pair, parse_pair(flag, text));
        out.insert_or_assign(std::move(pair.first), std::move(pair.second));
    }
    return out;
}

Result<> read_placement(const PodFlags& flags, PodTemplate& pod) {
    TRY(pod.annotations, read_pairs("--annotation", flags.annotations));
    TRY(pod.labels, read_pairs("--label", flags.labels));
    TRY(pod.node_selector, read_pairs("--selector", flags.selectors));
    for (const std::string& text : flags.tolerations) {
        TRY(auto toleration, parse_toleration(text));
        pod.tolerations.push_back(std::move(toleration));
    }
    return {};
}

}  // namespace

Result<> check_quantity(std::string_view flag, const std::string& text) {
    if (text.empty()) return {};
    const auto amount = parse_milli_quantity(text);
    if (!amount) return fail(amount.error().in(flag));
    return {};
}

Result<std::pair<std::string, std::string>> parse_pair(std::string_view flag,
                                                       std::string_view text) {
    const std::size_t equals = text.find('=');
    if (equals == 0 || equals == std::string_view::npos)
        return refuse(flag, text, "is not NAME=VALUE");
    return std::pair(std::string(text.substr(0, equals)), std::string(text.substr(equals + 1)));
}

Result<Toleration> parse_toleration(std::string_view text) {
    if (text == "all") return Toleration{.key = {}, .op = "Exists"};
    Toleration out;
    std::string_view rest = text;
    std::string_view op;
    if (const std::size_t comma = rest.find(','); comma != std::string_view::npos) {
        op = rest.substr(comma + 1);
        rest = rest.substr(0, comma);
    }
    if (const std::size_t colon = rest.find(':'); colon != std::string_view::npos) {
        out.effect = rest.substr(colon + 1);
        rest = rest.substr(0, colon);
    }
    const std::size_t equals = rest.find('=');
    out.key = rest.substr(0, equals);
    if (equals != std::string_view::npos) out.value = rest.substr(equals + 1);
    out.op = op.empty() ? (out.value.empty() ? "Exists" : "Equal") : std::string(op);
    const bool is_effect =
        out.effect.empty() || std::ranges::find(kEffects, out.effect) != kEffects.end();
    const bool is_op = out.op == "Exists" || out.op == "Equal";
    if (out.key.empty() || !is_effect || !is_op) {
        return refuse("--toleration", text,
                      "is not a toleration: write all, KEY, KEY=VALUE:EFFECT, or "
                      "KEY=VALUE:EFFECT,OPERATOR with an effect such as NoSchedule, and Equal or "
                      "Exists");
    }
    if (out.op == "Exists") out.value.clear();
    return out;
}

Result<PodTemplate> read_pod_flags(const PodFlags& flags, std::string_view default_image) {
    PodTemplate pod;
    pod.image = flags.image.empty() ? std::string(default_image) : flags.image;
    if (pod.image.empty())
        return fail(Code::invalid_argument, "--image: is missing; name the container's image");
    if (std::ranges::find(kPullPolicies, flags.image_pull_policy) == kPullPolicies.end()) {
        return refuse("--image-pull-policy", flags.image_pull_policy,
                      "is not Always, IfNotPresent or Never");
    }
    pod.pull_policy = flags.image_pull_policy;
    pod.pull_secrets = flags.image_pull_secrets;
    TRY(pod.gpus, read_gpu_flags(flags.gpu));
    TRY_VOID(read_limits(flags, pod));
    TRY_VOID(read_env(flags, pod));
    hide_gpus(flags, pod);
    TRY_VOID(read_mounts(flags, pod));
    TRY_VOID(read_placement(flags, pod));
    pod.files = flags.files;
    if (!flags.command.empty()) pod.command = {flags.shell, "-c", unexpanded(flags.command)};
    return pod;
}

}  // namespace tessera::workload
