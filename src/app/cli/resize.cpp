#include "app/cli/resize.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "domain/allocation/resize_text.hpp"
#include "wire/resize_json.hpp"

namespace tessera {
namespace {

constexpr std::chrono::milliseconds kPoll{200};
// To write the pod, which others write too.
constexpr int kTries = 10;

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

// `wanted`, and what `open` wishes for beyond that.
ResizeWish::Container both(ResizeWish::Container wanted, const ResizeWish::Container& open) {
    if (!wanted.memory) wanted.memory = open.memory;
    if (!wanted.cores) wanted.cores = open.cores;
    if (!wanted.ceiling) wanted.ceiling = open.ceiling;
    return wanted;
}

// What was wished for before and has no answer yet is wished for still: the annotation has room for
// one text.
ResizeWish with_open_wishes(ResizeWish wish, const PodResizes::Shown& pod, const Allocation& now) {
    const auto open = read_resize_wish(pod.wish);
    if (!open || is_refusal_of(pod.refusal, pod.wish)) return wish;
    for (const ResizeWish::Container& other : open->containers) {
        if (is_granted({{other}}, now)) continue;
        const auto own =
            std::ranges::find(wish.containers, other.name, &ResizeWish::Container::name);
        if (own == wish.containers.end()) {
            wish.containers.push_back(other);
        } else {
            *own = both(*own, other);
        }
    }
    return wish;
}

// Whether the text on the pod asks for what we want, ours or one that came after it.
bool asks_for(const std::string& text, const ResizeWish::Container& wanted) {
    const auto wish = read_resize_wish(text);
    return wish && std::ranges::any_of(wish->containers, [&](const auto& container) {
               return container.name == wanted.name && both(wanted, container) == container;
           });
}

// Nothing while there is no answer.
std::optional<Result<std::string>> answer(const PodResizes::Shown& pod,
                                          const ResizeWish::Container& wanted,
                                          const Allocation& before) {
    if (pod.facts.uid != before.pod)
        return fail(Code::not_found, fmt::format("pod {} is gone", pod.facts.name.str()));
    const Allocation* now = own_allocation(pod.facts);
    if (now != nullptr && is_granted({{wanted}}, *now)) {
        const std::string text = resize_text(before, *now);
        return "pod " + pod.facts.name.str() + ": " + (text.empty() ? "has that already" : text);
    }
    if (!asks_for(pod.wish, wanted)) {
        return fail(Code::conflict,
                    fmt::format("pod {}: another wish has taken the place of this one (annotation "
                                "tessera.dev/resize); ask again",
                                pod.facts.name.str()));
    }
    if (is_refusal_of(pod.refusal, pod.wish)) {
        Error refused = read_resize_refusal(pod.refusal);
        // To a script that is an answer, not the want of one.
        if (refused.code == Code::unavailable) refused.code = Code::conflict;
        return fail(refused.in("pod " + pod.facts.name.str() + ": refused"));
    }
    return std::nullopt;
}

// The wish stands on the pod.
struct Asked {
    ResizeWish::Container wanted;
    Allocation before;
};

Result<Asked> write_wish(PodResizes& pods, const ResizeAsk& ask) {
    for (int tried = 1;; ++tried) {
        const auto pod = pods.read(ask.pod);
        if (!pod && pod.error().code == Code::not_found) {
            return fail(Code::not_found, fmt::format("there is no pod {} in namespace {}",
                                                     ask.pod.name, ask.pod.space));
        }
        if (!pod) return fail(pod.error());
        TRY(const Allocation before, allocation_of(*pod));
        TRY(const std::string container, container_of(ask, before));
        const ResizeWish::Container wanted{container, ask.memory, ask.cores, ask.ceiling};
        const ResizeWish wish = with_open_wishes({{wanted}}, *pod, before);
        const auto written =
            pods.wish(pod->facts.uid, ask.pod, pod->version, write_resize_wish(wish, ask.id));
        if (written) return Asked{wanted, before};
        // Somebody wrote the pod meanwhile, a wish of his perhaps.
        if (written.error().code != Code::conflict || tried == kTries) return fail(written.error());
    }
}

}  // namespace

Result<std::string> ask_to_resize(PodResizes& pods, Clock& clock, const ResizeAsk& ask) {
    if (!ask.memory && !ask.cores && !ask.ceiling) {
        return fail(Code::invalid_argument,
                    "nothing to change: give --memory, --cores or --ceiling");
    }
    TRY(const Asked asked, write_wish(pods, ask));
    const auto until = clock.steady() + ask.timeout;
    while (true) {
        const auto now = pods.read(ask.pod);
        if (!now && now.error().code != Code::unavailable) return fail(now.error());
        if (now) {
            if (auto answered = answer(*now, asked.wanted, asked.before))
                return *std::move(answered);
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
