#include "app/cli/resize.hpp"

#include <fmt/format.h>

#include "domain/allocation/resize_text.hpp"
#include "wire/resize_json.hpp"

namespace tessera {
namespace {

constexpr std::chrono::milliseconds kPoll{200};

Result<std::string> container_of(const ResizeAsk& ask, const Allocation& allocation) {
    if (!ask.container.empty()) return ask.container;
    if (allocation.containers.size() == 1) return allocation.containers.front().container;
    std::string names;
    for (const ContainerAllocation& container : allocation.containers)
        names += (names.empty() ? "" : ", ") + container.container;
    return fail(Code::invalid_argument,
                fmt::format("--container: missing; pod {} has {}", ask.pod.str(), names));
}

Result<Allocation> allocation_of(const PodResizes::Shown& pod) {
    const Allocation* own = own_allocation(pod.facts);
    if (own != nullptr && !pod.facts.finished) return *own;
    const char* why = pod.facts.finished       ? "has finished"
                      : pod.facts.node.empty() ? "is not placed yet"
                                               : "has no share of a GPU that Tessera gave it";
    return fail(Code::conflict, fmt::format("pod {} {}", pod.facts.name.str(), why));
}

// Nothing while there is no answer.
std::optional<Result<std::string>> answer(const PodResizes::Shown& pod, const std::string& wish,
                                          const ResizeWish& wanted, const Allocation& before) {
    const auto say = [&](std::string text) {
        return std::optional(Result<std::string>("pod " + pod.facts.name.str() + ": " + text));
    };
    if (pod.facts.uid != before.pod)
        return fail(Code::not_found, fmt::format("pod {} is gone", pod.facts.name.str()));
    if (pod.wish != wish) {
        return fail(Code::conflict,
                    fmt::format("pod {}: another wish has taken the place of this one (annotation "
                                "tessera.dev/resize); ask again",
                                pod.facts.name.str()));
    }
    if (is_refusal_of(pod.refusal, wish)) {
        Error refused = read_resize_refusal(pod.refusal);
        // To a script that is an answer, not the want of one.
        if (refused.code == Code::unavailable) refused.code = Code::conflict;
        return fail(refused.in("pod " + pod.facts.name.str() + ": refused"));
    }
    const Allocation* now = own_allocation(pod.facts);
    if (now == nullptr || !is_granted(wanted, *now)) return std::nullopt;
    const std::string text = resize_text(before, *now);
    return say(text.empty() ? "has that already" : text);
}

}  // namespace

Result<std::string> ask_to_resize(PodResizes& pods, Clock& clock, const ResizeAsk& ask) {
    if (!ask.memory && !ask.cores && !ask.ceiling) {
        return fail(Code::invalid_argument,
                    "nothing to change: give --memory, --cores or --ceiling");
    }
    TRY(const auto pod, pods.read(ask.pod));
    TRY(const Allocation before, allocation_of(pod));
    TRY(const std::string container, container_of(ask, before));
    const ResizeWish wish{{{container, ask.memory, ask.cores, ask.ceiling}}};
    const std::string text = write_resize_wish(wish, ask.id);
    TRY_VOID(pods.wish(pod.facts.uid, ask.pod, text));
    const auto until = clock.steady() + ask.timeout;
    while (true) {
        const auto now = pods.read(ask.pod);
        if (!now && now.error().code != Code::unavailable) return fail(now.error());
        if (now) {
            if (auto answered = answer(*now, text, wish, before)) return *std::move(answered);
        }
        if (clock.steady() >= until) break;
        clock.sleep_for(kPoll);
    }
    return fail(Code::unavailable,
                fmt::format("pod {}: no answer within {} s; the wish stands (annotation "
                            "tessera.dev/resize); is tessera-controller up? tessera doctor says",
                            ask.pod.str(), ask.timeout.count()));
}

}  // namespace tessera
