#include "app/cli/defrag_text.hpp"

#include <fmt/format.h>

#include "app/cli/tab_writer.hpp"
#include "wire/json.hpp"

namespace tessera {
namespace {

using defrag::Move;
using defrag::Plan;
using defrag::Room;

std::string cards_text(const std::vector<int>& cards) {
    return fmt::format("{}", fmt::join(cards, ","));
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
                           move.node.str(), cards_text(move.cards), to_string(move.size),
                           move.to.str(), cards_text(move.to_cards));
    }
    return align_tabs(out);
}

std::string gain_text(const DefragAsk& ask, const Plan& plan) {
    if (plan.moves.empty()) {
        return ask.pod ? fmt::format(
                             "Pod {} fits on node {} as it is: no pod needs to move, and if "
                             "it waits, kubectl describe pod says why.\n",
                             ask.pod->str(), plan.fits_on.str())
                       : "No pod needs to move.\n";
    }
    std::string out = fmt::format(
        "Free whole cards: {} now, {} after. Largest room on a card: {} now, {} after.\n",
        plan.before.free_cards, plan.after.free_cards, to_string(plan.before.largest),
        to_string(plan.after.largest));
    if (ask.pod)
        out += fmt::format("Pod {} then fits on node {}.\n", ask.pod->str(), plan.fits_on.str());
    out += plan.fewest ? "Fewer moves do not do, where each pod moves once and keeps none of its "
                         "cards.\n"
                       : "Perhaps fewer moves do: not all of them were tried.\n";
    out +=
        "Each move ends a pod, and its controller makes another, which goes where it is placed "
        "then; the plan says where that would be now.\n";
    return out;
}

void write_room(JsonWriter& w, std::string_view name, const Room& room) {
    w.object(name, [&] {
        w.member("freeCards", room.free_cards);
        w.member("largestRoomBytes", room.largest.count);
    });
}

void write_place(JsonWriter& w, std::string_view name, const NodeName& node,
                 const std::vector<int>& cards) {
    w.object(name, [&] {
        w.member("node", node.str());
        w.array("gpus", [&] {
            for (const int card : cards)
                w.item(std::int64_t{card});
        });
    });
}

void write_plan(JsonWriter& w, const Plan& plan) {
    w.array("moves", [&] {
        for (const Move& move : plan.moves) {
            w.object([&] {
                w.member("namespace", move.pod.space);
                w.member("name", move.pod.name);
                w.member("uid", move.uid.str());
                w.member("bytes", move.size.count);
                write_place(w, "from", move.node, move.cards);
                write_place(w, "wouldFit", move.to, move.to_cards);
            });
        }
    });
    write_room(w, "before", plan.before);
    write_room(w, "after", plan.after);
    if (!plan.fits_on.empty()) w.member("podFitsOn", plan.fits_on.str());
    w.member("fewest", plan.fewest);
}

}  // namespace

std::string defrag_text(const DefragAsk& ask, const DefragAnswer& answer) {
    if (const auto* none = std::get_if<defrag::NoPlan>(&answer.found))
        return fmt::format("No plan: {}.\n{}", none->reason, stays_text(answer.stays));
    const Plan& plan = std::get<Plan>(answer.found);
    return plan.moves.empty() ? gain_text(ask, plan) : table(plan) + "\n" + gain_text(ask, plan);
}

std::string defrag_json(const DefragAsk& ask, const DefragAnswer& answer) {
    JsonWriter w;
    w.object([&] {
        w.member("version", 1);
        if (ask.pod) {
            w.member("for", ask.pod->str());
        } else {
            w.member("cards", ask.cards);
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
