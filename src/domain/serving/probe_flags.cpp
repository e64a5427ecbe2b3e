#include "domain/serving/probe_flags.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "base/ascii.hpp"
#include "domain/workload/refuse_flag.hpp"

namespace tessera::workload {
namespace {

constexpr int kMostPort = 65'535;
constexpr int kMostSeconds = 86'400;

struct ActionRow {
    std::string_view name;
    ProbeAction action;
    std::string_view options;  // for errors
};
constexpr auto kActions = std::to_array<ActionRow>({
    {"httpGet", ProbeAction::http, "path, port and scheme"},
    {"exec", ProbeAction::exec, "command"},
    {"grpc", ProbeAction::grpc, "port and service"},
    {"tcpSocket", ProbeAction::tcp, "port"},
});

struct NumberRow {
    std::string_view name;
    int Probe::* member;
    int least;
};
constexpr auto kNumbers = std::to_array<NumberRow>({
    {"initialDelaySeconds", &Probe::delay_s, 0},
    {"periodSeconds", &Probe::period_s, 1},
    {"timeoutSeconds", &Probe::timeout_s, 1},
    {"successThreshold", &Probe::successes, 1},
    {"failureThreshold", &Probe::failures, 1},
});

std::string_view trimmed(std::string_view text) {
    while (!text.empty() && text.front() == ' ')
        text.remove_prefix(1);
    while (!text.empty() && text.back() == ' ')
        text.remove_suffix(1);
    return text;
}

// The parts of "KEY: VALUE" or "KEY=VALUE"; the first of both characters counts.
std::optional<std::pair<std::string, std::string>> key_and_value(std::string_view text) {
    const std::size_t mark = text.find_first_of(":=");
    if (mark == std::string_view::npos) return std::nullopt;
    const std::string_view key = trimmed(text.substr(0, mark));
    const std::string_view value = trimmed(text.substr(mark + 1));
    if (key.empty() || value.empty()) return std::nullopt;
    return std::pair(std::string(key), std::string(value));
}

std::optional<int> number_of(std::string_view text, int least, int most) {
    const auto out = parse_digits(text, most);
    return out && *out >= least ? out : std::nullopt;
}

Result<> set_action_option(std::string_view flag, const std::string& text, const ActionRow& row,
                           std::string_view shell, Probe& probe) {
    const auto pair = key_and_value(text);
    const std::string key = pair ? pair->first : std::string();
    const std::string value = pair ? pair->second : std::string();
    const bool is_http = row.action == ProbeAction::http;
    if (key == "port" && row.action != ProbeAction::exec) {
        const auto port = number_of(value, 1, kMostPort);
        if (!port)
            return refuse(flag, fmt::format("\"{}\" is not a port from 1 to {}", text, kMostPort));
        probe.port = *port;
        return {};
    }
    if (key == "path" && is_http && value.starts_with('/')) {
        probe.path = value;
    } else if (key == "scheme" && is_http && (value == "HTTP" || value == "HTTPS")) {
        probe.scheme = value;
    } else if (key == "service" && row.action == ProbeAction::grpc) {
        probe.service = value;
    } else if (key == "command" && row.action == ProbeAction::exec) {
        probe.command = {std::string(shell), std::string("-c"), value};
    } else {
        return refuse(flag, fmt::format("\"{}\" is no option of {}; it has {}, as in \"{}\"", text,
                                        row.name, row.options,
                                        is_http                           ? "path: /healthz"
                                        : row.action == ProbeAction::exec ? "command: cat /ready"
                                                                          : "port: 8500"));
    }
    return {};
}

Result<> set_action(std::string_view flag, const ProbeFlags& flags, const ProbeDefaults& defaults,
                    Probe& probe) {
    const auto row = std::ranges::find(kActions, flags.action, &ActionRow::name);
    if (row == kActions.end()) {
        return refuse(flag,
                      fmt::format("\"{}\" is not httpGet, exec, grpc or tcpSocket", flags.action));
    }
    probe.action = row->action;
    probe.path.assign(row->action == ProbeAction::http ? 1 : 0, '/');
    const bool prefers_grpc = row->action == ProbeAction::grpc;
    const int first = prefers_grpc ? defaults.grpc_port : defaults.rest_port;
    const int second = prefers_grpc ? defaults.rest_port : defaults.grpc_port;
    probe.port = row->action == ProbeAction::exec ? 0 : first != 0 ? first : second;
    const std::string option_flag = fmt::format("{}-option", flag);
    for (const std::string& text : flags.action_options)
        TRY_VOID(set_action_option(option_flag, text, *row, defaults.shell, probe));
    if (row->action == ProbeAction::exec && probe.command.empty()) {
        return refuse(option_flag,
                      "is missing; exec needs a command, as in \"command: cat /ready\"");
    }
    return {};
}

Result<> set_option(std::string_view flag, const std::string& text, bool is_ready, Probe& probe) {
    const auto pair = key_and_value(text);
    const auto row =
        std::ranges::find(kNumbers, pair ? pair->first : std::string(), &NumberRow::name);
    if (row == kNumbers.end()) {
        return refuse(flag, fmt::format("\"{}\" is no option of a probe; it has "
                                        "initialDelaySeconds, periodSeconds, timeoutSeconds, "
                                        "successThreshold and failureThreshold, as in "
                                        "\"periodSeconds: 3\"",
                                        text));
    }
    const auto number = number_of(pair->second, row->least, kMostSeconds);
    if (!number) {
        return refuse(flag, fmt::format("\"{}\" does not end with a number from {} to {}", text,
                                        row->least, kMostSeconds));
    }
    if (row->member == &Probe::successes && *number != 1 && !is_ready) {
        return refuse(flag, fmt::format("\"{}\" must be 1, except for the readiness probe", text));
    }
    probe.*(row->member) = *number;
    return {};
}

}  // namespace

Result<> read_probe_flags(std::string_view kind, const ProbeFlags& flags,
                          const ProbeDefaults& defaults, Probe& probe) {
    const std::string action = fmt::format("--{}-probe-action", kind);
    if (flags.action.empty() && !flags.action_options.empty()) {
        return refuse(fmt::format("{}-option", action),
                      fmt::format("needs {}, which says what the probe does", action));
    }
    if (!flags.action.empty()) TRY_VOID(set_action(action, flags, defaults, probe));
    for (const std::string& text : flags.options) {
        TRY_VOID(
            set_option(fmt::format("--{}-probe-option", kind), text, defaults.is_ready, probe));
    }
    return {};
}

}  // namespace tessera::workload
