#include "app/cli/resize.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "domain/allocation/resize_text.hpp"
#include "wire/tessera/resize_json.hpp"

namespace tessera {
namespace {

constexpr std::chrono::milliseconds kPoll{200};
// Attempts to write the pod, which other clients write too.
constexpr int kTries = 10;

Result<std::string> container_of(const ResizeRequest& request, const Allocation& allocation) {
    if (!request.container.empty()) return request.container;
    if (allocation.containers.size() == 1) return allocation.containers.front().container;
    std::string names;
    for (const ContainerAllocation& container : allocation.containers)
        names += (names.empty() ? "" : ", ") + container.container;
    return fail(Code::invalid_argument,
                fmt::format("--container: missing; pod {} has {}", request.pod.str(), names));
}

Result<Allocation> allocation_of(const PodResizes::Shown& pod) {
    const Allocation* own = own_allocation(pod.info);
    if (own != nullptr && !pod.info.finished) return *own;
    const char* why = pod.info.finished       ? "has finished"
                      : pod.info.node.empty() ? "is not placed yet"
                                              : "has no GPU share from Tessera";
    return fail(Code::conflict, fmt::format("pod {} {}", pod.info.name.str(), why));
}

// `wanted`, with the amounts of `open` that `wanted` does not set.
RequestedShares::Container both(RequestedShares::Container wanted,
                                const RequestedShares::Container& open) {
    if (!wanted.memory) wanted.memory = open.memory;
    if (!wanted.cores) wanted.cores = open.cores;
    if (!wanted.cores_limit) wanted.cores_limit = open.cores_limit;
    return wanted;
}

// Earlier requests without an answer are still requested: the annotation has room for one text
// only.
RequestedShares with_open_requests(RequestedShares requested, const PodResizes::Shown& pod,
                                   const Allocation& now) {
    const auto open = read_resize_request(pod.requested);
    if (!open || is_refusal_of(pod.refusal, pod.requested)) return requested;
    for (const RequestedShares::Container& other : open->containers) {
        if (is_granted({{other}}, now)) continue;
        const auto own =
            std::ranges::find(requested.containers, other.name, &RequestedShares::Container::name);
        if (own == requested.containers.end()) {
            requested.containers.push_back(other);
        } else {
            *own = both(*own, other);
        }
    }
    return requested;
}

// Whether the text on the pod includes `wanted`: our request, or a later one that includes it.
bool asks_for(const std::string& text, const RequestedShares::Container& wanted) {
    const auto requested = read_resize_request(text);
    return requested && std::ranges::any_of(requested->containers, [&](const auto& container) {
               return container.name == wanted.name && both(wanted, container) == container;
           });
}

// Nothing while there is no answer.
std::optional<Result<std::string>> answer(const PodResizes::Shown& pod,
                                          const RequestedShares::Container& wanted,
                                          const Allocation& before) {
    if (pod.info.uid != before.pod)
        return fail(Code::not_found, fmt::format("pod {} is gone", pod.info.name.str()));
    const Allocation* now = own_allocation(pod.info);
    if (now != nullptr && is_granted({{wanted}}, *now)) {
        const std::string text = resize_text(before, *now);
        return "pod " + pod.info.name.str() + ": " + (text.empty() ? "has that already" : text);
    }
    if (!asks_for(pod.requested, wanted)) {
        return fail(Code::conflict,
                    fmt::format("pod {}: another request has replaced this one (annotation "
                                "tessera.dev/resize-request); try again",
                                pod.info.name.str()));
    }
    if (is_refusal_of(pod.refusal, pod.requested)) {
        Error refused = read_resize_refusal(pod.refusal);
        // unavailable would tell a script that there was no answer; a refusal is an answer.
        if (refused.code == Code::unavailable) refused.code = Code::conflict;
        return fail(refused.in("pod " + pod.info.name.str() + ": refused"));
    }
    return std::nullopt;
}

// A request that is written on the pod.
struct Asked {
    RequestedShares::Container wanted;
    Allocation before;
};

Result<Asked> write_resize_request(PodResizes& pods, const ResizeRequest& request) {
    for (int tried = 1;; ++tried) {
        const auto pod = pods.read(request.pod);
        if (!pod && pod.error().code == Code::not_found) {
            return fail(Code::not_found, fmt::format("there is no pod {} in namespace {}",
                                                     request.pod.name, request.pod.ns));
        }
        if (!pod) return fail(pod.error());
        TRY(const Allocation before, allocation_of(*pod));
        TRY(const std::string container, container_of(request, before));
        const RequestedShares::Container wanted{container, request.memory, request.cores,
                                                request.cores_limit};
        const RequestedShares requested = with_open_requests({{wanted}}, *pod, before);
        const auto written = pods.request(pod->info.uid, request.pod, pod->version,
                                          write_resize_request(requested, request.id));
        if (written) return Asked{wanted, before};
        // Another client wrote the pod in the meantime, perhaps with a request of its own.
        if (written.error().code != Code::conflict || tried == kTries) return fail(written.error());
    }
}

}  // namespace

Result<std::string> request_resize(PodResizes& pods, Clock& clock, const ResizeRequest& request) {
    if (!request.memory && !request.cores && !request.cores_limit) {
        return fail(Code::invalid_argument,
                    "nothing to change: give --memory, --cores or --compute-limit");
    }
    TRY(const Asked asked, write_resize_request(pods, request));
    const auto until = clock.steady() + request.timeout;
    while (true) {
        const auto now = pods.read(request.pod);
        if (!now && now.error().code != Code::unavailable) return fail(now.error());
        if (now) {
            if (auto answered = answer(*now, asked.wanted, asked.before))
                return *std::move(answered);
        }
        if (clock.steady() >= until) break;
        clock.sleep_for(kPoll);
    }
    return fail(
        Code::unavailable,
        fmt::format("pod {}: no answer within {} s; the request remains open (annotation "
                    "tessera.dev/resize-request); run tessera doctor to check tessera-controller",
                    request.pod.str(), request.timeout.count()));
}

}  // namespace tessera
