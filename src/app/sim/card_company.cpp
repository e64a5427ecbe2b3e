#include "app/sim/card_company.hpp"

#include <algorithm>
#include <ranges>
#include <utility>

namespace tessera {

CardCompany::CardCompany(const std::vector<NodeView>& nodes) {
    std::vector<std::vector<Gpu>> gpus;
    gpus.reserve(nodes.size());
    for (const NodeView& node : nodes) {
        gpus.push_back(node.inventory.gpus);
        cards_.push_back(node.cards);
        for (const TenantPtr& tenant : node.tenants) {
            if (tenant->together) company_.add(*tenant->together, tenant->uid, Company::As::holder);
        }
    }
    gpus_ = std::make_shared<const std::vector<std::vector<Gpu>>>(std::move(gpus));
}

CardRules CardCompany::joined(CardRules rules, const PodUid& pod) const {
    rules.joins = rules.together && company_.has_other(*rules.together, pod);
    return rules;
}

CardSet CardCompany::admitted(Admission& admission, std::size_t node) const {
    const std::vector<Card>& cards = cards_[node];
    admission.look_at({.gpus = (*gpus_)[node], .cards = cards, .free = {}});
    CardSet out = 0;
    for (std::size_t card = 0; card < std::min<std::size_t>(cards.size(), kMaxCards); ++card) {
        if (admission.admits(card))
            out = static_cast<CardSet>(out | card_bit(static_cast<int>(card)));
    }
    return out;
}

Tenant CardCompany::tenant_on(std::size_t node, CardSet cards, const CardRules& rules,
                              const PodUid& pod) const {
    Tenant tenant{.uid = pod, .groups = rules.groups(), .together = rules.together};
    for (int card = 0; card < kMaxCards; ++card) {
        if ((cards & card_bit(card)) == 0) continue;
        tenant.holds.push_back({.uuid = (*gpus_)[node][static_cast<std::size_t>(card)].uuid});
    }
    return tenant;
}

void CardCompany::count(std::size_t node, const Tenant& tenant, int sign) {
    count_holds(tenant, (*gpus_)[node], cards_[node], sign);
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
