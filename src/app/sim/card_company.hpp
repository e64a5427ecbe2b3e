// Who of the pods with rules (request/card_rules.hpp) is on which card, while pods are placed and
// taken back. What the rules admit is the controller's own decision (placement/admission.hpp).
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "domain/cluster/company.hpp"
#include "domain/cluster/view.hpp"
#include "domain/placement/admission.hpp"
#include "domain/placement/fleet/node_load.hpp"

namespace tessera {

// A copy goes on by itself. One thread.
class CardCompany {
  public:
    CardCompany() : CardCompany(std::vector<NodeView>()) {}
    // Of these nodes' tenants.
    explicit CardCompany(const std::vector<NodeView>& nodes);

    // The pod's rules, with CardRules::joins as it is now.
    [[nodiscard]] CardRules joined(CardRules rules, const PodUid& pod) const;
    // Those of the node's cards that are admitted, as far as the engine tells cards apart.
    [[nodiscard]] CardSet admitted(Admission& admission, std::size_t node) const;

    void add(std::size_t node, const Tenant& tenant) { count(node, tenant, 1); }
    void remove(std::size_t node, const Tenant& tenant) { count(node, tenant, -1); }

    // A pod with these rules on these cards of the node.
    [[nodiscard]] Tenant tenant_on(std::size_t node, CardSet cards, const CardRules& rules,
                                   const PodUid& pod) const;

  private:
    void count(std::size_t node, const Tenant& tenant, int sign);

    std::shared_ptr<const std::vector<std::vector<Gpu>>> gpus_;  // per node
    std::vector<std::vector<Card>> cards_;                       // per node
    Company company_;
};

// What is added through it is taken back when it goes, unless keep() was called. `company` outlives
// it.
class CompanyTrial {
  public:
    explicit CompanyTrial(CardCompany& company) : company_(company) {}
    ~CompanyTrial();
    CompanyTrial(const CompanyTrial&) = delete;
    CompanyTrial& operator=(const CompanyTrial&) = delete;

    void add(std::size_t node, Tenant tenant);
    void keep() { added_.clear(); }

  private:
    struct One {
        std::size_t node;
        Tenant tenant;
    };
    CardCompany& company_;
    std::vector<One> added_;
};

}  // namespace tessera
