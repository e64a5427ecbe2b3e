// Why nodes refuse a pod, said for all of them together: kube-scheduler makes one event of all
// reasons. It counts equal ones, and the API server cuts what is longer than 1,024 bytes.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "domain/cluster/view.hpp"
#include "domain/events/reader.hpp"
#include "domain/placement/misfit.hpp"
#include "domain/placement/place.hpp"
#include "wire/extender_json.hpp"

namespace tessera {

class Refusals {
  public:
    // Of one class of reasons, so many different ones are told as they are. Where there are more,
    // the class speaks, with the largest number of all its nodes.
    static constexpr std::size_t kFew = 3;

    // All of them outlive it. `placer` and `request` are the pod's.
    Refusals(Placer& placer, const PodRequest& request, const ClusterView& view,
             const ExtenderArgs& args)
        : placer_(placer), explainer_(request), view_(view), args_(args) {}

    // The node args.names[i], at that position of the view, refuses the pod.
    void add(std::size_t i, std::uint32_t position);
    // All that were added, each in the list that kube-scheduler wants it in, and the obstacle that
    // is the nearest to going away.
    void write(FilterAnswer& answer);

  private:
    struct Why {
        Obstacle obstacle = Obstacle::unknown_node;
        const Misfit* misfit = nullptr;  // null: the reason names the node
    };
    struct Class {
        std::size_t reasons = 0;  // different ones, counted up to kFew + 1
        std::array<const Misfit*, kFew> seen{};
        const Misfit* most = nullptr;
        std::string first;     // of those that name their node
        std::string together;  // in place of each one; empty: they are few
    };
    struct Refused {
        std::size_t i;
        std::uint32_t position;
        Why why;
    };

    [[nodiscard]] Why why_of(std::uint32_t position);
    [[nodiscard]] std::string reason_naming(const Refused& refused) const;
    [[nodiscard]] std::string reason_of(const Refused& node) const;
    [[nodiscard]] Reader reader() const;
    [[nodiscard]] std::string together_of(const Class& of) const;
    static bool is_new(Class& of, const Misfit* misfit);

    Class& class_of(Obstacle obstacle) { return classes_.at(static_cast<std::size_t>(obstacle)); }
    [[nodiscard]] const Class& class_of(Obstacle obstacle) const {
        return classes_.at(static_cast<std::size_t>(obstacle));
    }

    Placer& placer_;
    Explainer explainer_;
    const ClusterView& view_;
    const ExtenderArgs& args_;
    std::array<Class, kObstacles.size()> classes_;
    std::vector<Refused> refused_;
};

// kube-scheduler takes an answer without nodes and without reasons for "nothing will ever help" and
// keeps the pod for minutes, and its user reads no word. So an answer without nodes has a reason
// for each node that was named; where the code that decided gave none, this gives one and logs it,
// as that is a fault of ours.
void give_missing_reasons(const ExtenderArgs& args, FilterAnswer& answer);

}  // namespace tessera
