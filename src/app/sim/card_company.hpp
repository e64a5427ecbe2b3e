// Who is on which card, while pods are placed and taken back: what rules on cards
// (request/card_rules.hpp) and links go by. What these admit and prefer is the controller's own
// decision (placement/admission.hpp, card_sets.hpp).
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include "domain/cluster/company.hpp"
#include "domain/cluster/pod_ask.hpp"
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

    // The pod on these cards of the node, those of each container.
    [[nodiscard]] Tenant tenant_on(std::size_t node, const PodAsk& pod,
                                   std::span<const CardSet> cards) const;
    // The node's cards as they are now, but for Offer::free. Until the next change.
    [[nodiscard]] Offer offer(std::size_t node) const;

  private:
    struct Fixed {
        std::vector<Gpu> gpus;
        std::vector<Island> islands;
        MemoryUnit unit = MemoryUnit::gib;
    };
    void count(std::size_t node, const Tenant& tenant, int sign);

    std::shared_ptr<const std::vector<Fixed>> nodes_;
    std::vector<std::vector<Card>> cards_;  // per node
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
