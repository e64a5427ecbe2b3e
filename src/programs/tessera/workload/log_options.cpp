#include "programs/tessera/workload/log_options.hpp"

#include <fmt/format.h>

#include <iostream>

#include "adapters/workload/kube_pod_logs.hpp"
#include "base/dns_name.hpp"
#include "domain/training/submit_flags.hpp"
#include "programs/common/validators.hpp"
#include "wire/text/utc_time.hpp"

namespace tessera {
namespace {

Result<std::string> checked_since_time(const LogOptions& options) {
    if (options.since_time.empty()) return std::string();
    if (!options.since.empty()) {
        return fail(Code::invalid_argument,
                    "--since-time: cannot be used with --since; choose one");
    }
    if (!rfc3339_seconds(options.since_time)) {
        return fail(Code::invalid_argument,
                    fmt::format("--since-time: \"{}\" is not a time of RFC 3339, such as "
                                "2026-01-31T11:00:00Z or 2026-01-31T12:00:00+01:00",
                                options.since_time));
    }
    return options.since_time;
}

}  // namespace

void LogOptions::add_to(CLI::App& command) {
    command.add_flag("-f,--follow", log.follow, "until the pod ends");
    command.add_option("-i,--instance", instance, "the pod, if there are several");
    command.add_option("-c,--container", log.container, "its container, if there are several");
    command.add_option("-t,--tail", log.tail, "only the last lines")
        ->transform(whole_number(0, 1'000'000'000));
    command.add_option("--since", since, "only of the last time, such as 90s, 30m or 1h30m");
    command.add_option("--since-time", since_time,
                       "only from this time on, such as 2026-01-31T11:00:00Z");
    command.add_flag("--timestamps", log.timestamps, "with the time of each line");
    command.add_flag("-p,--previous", log.previous, "of the container's start before this one");
}

Result<> print_log(HttpClient& api, const PodName& pod, std::string_view container,
                   const std::string& why, const LogOptions& options) {
    PodLogOptions log = options.log;
    if (log.container.empty()) log.container = container;
    if (!is_dns_label(log.container)) {
        return fail(
            Code::invalid_argument,
            fmt::format("--container: \"{}\" is not the name of a container", log.container));
    }
    if (!options.since.empty()) {
        TRY(log.since_s, workload::parse_duration("--since", options.since));
    }
    TRY(log.since_time, checked_since_time(options));
    const auto shown = KubePodLogs(api).print(
        pod, log, [](std::string_view text) { return (std::cout << text << std::flush).good(); });
    if (shown) return {};
    Error error = shown.error();
    if (!why.empty()) error.text += "; " + why;
    return fail(error);
}

}  // namespace tessera
