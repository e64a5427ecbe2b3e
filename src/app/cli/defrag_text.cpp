#include "app/cli/defrag_text.hpp"

#include <fmt/format.h>

#include "app/cli/tab_writer.hpp"
#include "wire/text/json.hpp"

namespace tessera {
namespace {

using defrag::FreeCapacity;
using defrag::Move;
using defrag::Plan;

std::string gpus_text(const std::vector<int>& gpus) {
    return fmt::format("{}", fmt::join(gpus, ","));
}

std::string stays_text(const std::map<std::string, int>& stays) {
    std::string out = stays.empty() ? "" : "Pods that stay:\n";
    for (const auto& [why, count] : stays)
        out += fmt::format("  {}: {}\n", count, why);
    return out;
}

std::string table(const Plan& plan) {
    std::string out = "MOVE\tPOD\tNODE\tGPU\tSIZE\tWOULD GO TO\tGPU\n";
    int number = 0;
    for (const Move& move : plan.moves) {
        out += fmt::format("{}\t{}\t{}\t{}\t{}\t{}\t{}\n", ++number, move.pod.str(),
                           move.node.str(), gpus_text(move.gpus), rounded_up(move.size),
                           move.to.str(), gpus_text(move.to_gpus));
    }
    return align_tabs(out);
}

std::string gain_text(const DefragRequest& request, const Plan& plan) {
    if (plan.moves.empty()) {
        return request.pod ? fmt::format(
                                 "Pod {} fits on node {} now: no pod needs to move. If it stays "
                                 "pending, kubectl describe pod says why.\n",
                                 request.pod->str(), plan.fits_on.str())
                           : "No pod needs to move.\n";
    }
    std::string out = fmt::format(
        "Free whole GPUs: {} now, {} after. Largest free memory on a GPU: {} now, {} after.\n",
        plan.before.free_gpus, plan.after.free_gpus, rounded_down(plan.before.largest),
        rounded_down(plan.after.largest));
    if (request.pod) {
        out +=
            fmt::format("Pod {} then fits on node {}.\n", request.pod->str(), plan.fits_on.str());
    }
    out += plan.fewest ? "This is the minimum number of moves, provided each pod moves once and "
                         "leaves all of its current GPUs.\n"
                       : "Fewer moves may be enough: not all sequences were tried.\n";
    out +=
        "Each move evicts a pod, and its controller creates a new one. The plan shows where the "
        "new pod would be placed now.\n";
    return out;
}

void write_free_capacity(JsonWriter& w, std::string_view name, const FreeCapacity& free) {
    w.object(name, [&] {
        w.member("freeGpus", free.free_gpus);
        w.member("largestRoomBytes", free.largest.count);
    });
}

void write_place(JsonWriter& w, std::string_view name, const NodeName& node,
                 const std::vector<int>& gpus) {
    w.object(name, [&] {
        w.member("node", node.str());
        w.array("gpus", [&] {
            for (const int gpu : gpus)
                w.item(std::int64_t{gpu});
        });
    });
}

void write_plan(JsonWriter& w, const Plan& plan) {
    w.array("moves", [&] {
        for (const Move& move : plan.moves) {
            w.object([&] {
                w.member("namespace", move.pod.ns);
                w.member("name", move.pod.name);
                w.member("uid", move.uid.str());
                w.member("bytes", move.size.count);
                write_place(w, "from", move.node, move.gpus);
                write_place(w, "wouldFit", move.to, move.to_gpus);
            });
        }
    });
    write_free_capacity(w, "before", plan.before);
    write_free_capacity(w, "after", plan.after);
    if (!plan.fits_on.empty()) w.member("podFitsOn", plan.fits_on.str());
    w.member("fewest", plan.fewest);
}

}  // namespace

std::string defrag_text(const DefragRequest& request, const DefragAnswer& answer) {
    if (const auto* none = std::get_if<defrag::NoPlan>(&answer.found))
        return fmt::format("No plan: {}.\n{}", none->reason, stays_text(answer.stays));
    const Plan& plan = std::get<Plan>(answer.found);
    return plan.moves.empty() ? gain_text(request, plan)
                              : table(plan) + "\n" + gain_text(request, plan);
}

std::string defrag_json(const DefragRequest& request, const DefragAnswer& answer) {
    JsonWriter w;
    w.object([&] {
        w.member("version", 1);
        if (request.pod) {
            w.member("for", request.pod->str());
        } else {
            w.member("gpus", request.gpus);
        }
        if (const auto* none = std::get_if<defrag::NoPlan>(&answer.found)) {
            w.member("found", false);
            w.member("reason", none->reason);
        } else {
            w.member("found", true);
            write_plan(w, std::get<Plan>(answer.found));
        }
        w.object("staying", [&] {
            for (const auto& [why, count] : answer.stays)
                w.member(why, count);
        });
    });
    return w.take();
}

}  // namespace tessera
