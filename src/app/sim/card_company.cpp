#include "app/sim/card_company.hpp"

#include <algorithm>
#include <ranges>
#include <utility>

#include "domain/placement/place.hpp"

namespace tessera {

CardCompany::CardCompany(const std::vector<NodeView>& nodes) {
    std::vector<Fixed> fixed;
    fixed.reserve(nodes.size());
    for (const NodeView& node : nodes) {
        fixed.push_back({node.inventory.gpus, node.islands, node.inventory.unit});
        cards_.push_back(node.cards);
        for (const TenantPtr& tenant : node.tenants) {
            if (tenant->together) company_.add(*tenant->together, tenant->uid, Company::As::holder);
        }
    }
    nodes_ = std::make_shared<const std::vector<Fixed>>(std::move(fixed));
}

CardRules CardCompany::joined(CardRules rules, const PodUid& pod) const {
    rules.joins = rules.together && company_.has_other(*rules.together, pod);
    return rules;
}

CardSet CardCompany::admitted(Admission& admission, std::size_t node) const {
    const std::vector<Card>& cards = cards_[node];
    admission.look_at(offer(node));
    CardSet out = 0;
    for (std::size_t card = 0; card < std::min<std::size_t>(cards.size(), kMaxCards); ++card) {
        if (admission.admits(card))
            out = static_cast<CardSet>(out | card_bit(static_cast<int>(card)));
    }
    return out;
}

Tenant CardCompany::tenant_on(std::size_t node, const PodAsk& pod,
                              std::span<const CardSet> cards) const {
    Fit fit;
    for (const CardSet of_container : cards) {
        for (int card = 0; card < kMaxCards; ++card) {
            if ((of_container & card_bit(card)) != 0) fit.cards.push_back(card);
        }
    }
    const CardRules& rules = rules_of(pod.request);
    const Fixed& at = (*nodes_)[node];
    return {.uid = pod.uid,
            .holds = holds(containers_of(pod.request, fit, at.gpus, at.unit)),
            .groups = rules.groups(),
            .together = rules.together};
}

Offer CardCompany::offer(std::size_t node) const {
    const Fixed& at = (*nodes_)[node];
    return {
        .gpus = at.gpus, .cards = cards_[node], .free = {}, .islands = at.islands, .unit = at.unit};
}

void CardCompany::count(std::size_t node, const Tenant& tenant, int sign) {
    count_holds(tenant, (*nodes_)[node].gpus, cards_[node], sign);
    if (!tenant.together) return;
    if (sign > 0) {
        company_.add(*tenant.together, tenant.uid, Company::As::holder);
    } else {
        company_.remove(*tenant.together, tenant.uid, Company::As::holder);
    }
}

CompanyTrial::~CompanyTrial() {
    for (const One& one : added_ | std::views::reverse)
        company_.remove(one.node, one.tenant);
}

void CompanyTrial::add(std::size_t node, Tenant tenant) {
    company_.add(node, tenant);
    added_.push_back({node, std::move(tenant)});
}

}  // namespace tessera
