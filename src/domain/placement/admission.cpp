#include "domain/placement/admission.hpp"

#include <algorithm>

namespace tessera {
namespace {

bool has(const Card& card, CardGroup group) {
    return std::ranges::find(card.groups, group) != card.groups.end();
}

}  // namespace

void Admission::look_at(const Offer& offer) {
    if (any_) return;
    const bool joins_here =
        rules_.together && std::ranges::any_of(offer.cards, [&](const Card& card) {
            return has(card, *rules_.together);
        });
    verdicts_.assign(offer.cards.size(), Admitted::yes);
    for (std::size_t i = 0; i < offer.cards.size(); ++i) {
        const Card& card = offer.cards[i];
        if (!admits_names(offer.gpus[i])) {
            verdicts_[i] = Admitted::other_card;
        } else if ((rules_.apart && has(card, *rules_.apart)) ||
                   ((rules_.joins || joins_here) && !has(card, *rules_.together))) {
            verdicts_[i] = Admitted::company;
        }
    }
}

bool Admission::admits_names(const Gpu& gpu) {
    if (!admits_uuid(rules_, gpu.uuid)) return false;
    const auto known = std::ranges::find(models_, gpu.model, &std::pair<std::string, bool>::first);
    if (known != models_.end()) return known->second;
    const bool is_admitted = admits_model(rules_, gpu.model);
    models_.emplace_back(gpu.model, is_admitted);
    return is_admitted;
}

}  // namespace tessera
