#include "domain/serving/serve_common.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/ascii.hpp"

namespace tessera::workload {
namespace {

constexpr int kMostPort = 65'535;
constexpr int kMostReplicas = 10'000;

// A number of pods, or a percentage of them.
Result<> check_amount(std::string_view flag, std::string_view text) {
    if (text.empty()) return {};
    std::string_view digits = text;
    if (digits.ends_with('%')) digits.remove_suffix(1);
    const bool is_number = !digits.empty() && digits.size() <= 4 &&
                           (digits.size() == 1 || digits[0] != '0') &&
                           std::ranges::all_of(digits, is_digit);
    if (is_number) return {};
    return fail(
        Code::invalid_argument,
        fmt::format("{}: \"{}\" is neither a number such as 1, nor a percentage such as 25%", flag,
                    text));
}

// The variables that Arena sets (docs/research/arena.md §2.3), behind the user's. A variable of the
// user with such a name stays.
void add_pod_fields(std::vector<EnvVar>& env) {
    struct Field {
        std::string_view name;
        std::string_view path;
    };
    constexpr auto kFields = std::to_array<Field>({{"ARENA_NODE_NAME", "spec.nodeName"},
                                                   {"ARENA_POD_NAMESPACE", "metadata.namespace"},
                                                   {"ARENA_POD_NAME", "metadata.name"},
                                                   {"ARENA_POD_IP", "status.podIP"}});
    for (const Field& field : kFields) {
        if (std::ranges::find(env, field.name, &EnvVar::name) != env.end()) continue;
        env.push_back(
            {.name = std::string(field.name), .value = {}, .field_path = std::string(field.path)});
    }
}

}  // namespace

Result<Serving> begin_serving(const ServeFlags& flags, ServingType type,
                              std::string_view default_image) {
    Serving out{.id = {flags.name, flags.version, type},
                .ns = flags.ns,
                .replicas = flags.replicas,
                .max_surge = flags.max_surge,
                .max_unavailable = flags.max_unavailable,
                .pod = {},
                .arguments = {},
                .notes = {}};
    TRY_VOID(check_serving_name(out.id));
    if (flags.replicas < 0 || flags.replicas > kMostReplicas) {
        return fail(Code::invalid_argument,
                    fmt::format("--replicas: {} is not a number from 0 to {}", flags.replicas,
                                kMostReplicas));
    }
    TRY_VOID(check_amount("--max-surge", flags.max_surge));
    TRY_VOID(check_amount("--max-unavailable", flags.max_unavailable));
    TRY(out.pod, read_pod_flags(flags.pod, default_image));
    TRY(out.scaling, read_scaling(flags.scaling, out.pod.gpus));
    if (out.scaling) {
        TRY(out.replicas, initial_replicas(flags.replicas, *out.scaling));
    }
    add_pod_fields(out.pod.env);
    out.pod.container = row_of(type).container;
    return out;
}

Result<> add_port(PodTemplate& pod, std::string_view flag, std::string_view name, int number) {
    if (number < 0 || number > kMostPort) {
        return fail(Code::invalid_argument,
                    fmt::format("{}: {} is not a port from 1 to {}, or 0 for none", flag, number,
                                kMostPort));
    }
    if (number == 0) return {};
    if (const auto other = std::ranges::find(pod.ports, number, &Port::number);
        other != pod.ports.end()) {
        return fail(Code::invalid_argument,
                    fmt::format("{}: {} is the port {} already; choose another one", flag, number,
                                other->name));
    }
    pod.ports.push_back({std::string(name), number});
    return {};
}

void count_requests(PodTemplate& pod, const RequestCounter& counter) {
    pod.annotations.emplace(kRequestCounterAnnotation, to_string(counter));
}

void set_probes(PodTemplate& pod, const Probe& alive, const Probe& ready) {
    pod.startup = alive;
    pod.startup->failures = kStartPeriods;
    pod.liveness = alive;
    pod.liveness->period_s = 10;
    pod.liveness->failures = 6;
    pod.readiness = ready;
}

}  // namespace tessera::workload
