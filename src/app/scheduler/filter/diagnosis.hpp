// Why nodes refuse a pod, summarised for all of them together. kube-scheduler makes one event of
// all reasons: it counts equal ones, and the API server cuts what is longer than 1,024 bytes.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "domain/cluster/snapshot.hpp"
#include "domain/events/reader.hpp"
#include "domain/placement/fit_error.hpp"
#include "domain/placement/place.hpp"
#include "wire/extender/extender_json.hpp"

namespace tessera {

class Diagnosis {
  public:
    // Up to this many different reasons of one class are given unchanged. If there are more, one
    // sentence stands for the class, with the largest number of all its nodes.
    static constexpr std::size_t kFew = 3;

    // All of them outlive this. `placer` and `request` are the pod's.
    Diagnosis(Placer& placer, const ContainerRequests& request, const Snapshot& snapshot,
              const ExtenderArgs& args)
        : placer_(placer), explainer_(request), snapshot_(snapshot), args_(args) {}

    // The node args.names[i], at that position of the snapshot, refuses the pod.
    void add(std::size_t i, std::uint32_t position);
    // Writes all added nodes, each in the list that kube-scheduler expects it in, and the reason
    // that is most likely to change first.
    void write(FilterAnswer& answer);

  private:
    struct Why {
        UnschedulableReason reason = UnschedulableReason::unknown_node;
        const FitError* fit_error = nullptr;  // null: the reason names the node
    };
    struct Class {
        std::size_t reasons = 0;  // number of different ones, counted up to kFew + 1
        std::array<const FitError*, kFew> seen{};
        const FitError* most = nullptr;
        std::string first;     // the first of the reasons that name their node
        std::string together;  // replaces each single reason; empty: they are few
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
    static bool is_new(Class& of, const FitError* fit_error);

    Class& class_of(UnschedulableReason reason) {
        return classes_.at(static_cast<std::size_t>(reason));
    }
    [[nodiscard]] const Class& class_of(UnschedulableReason reason) const {
        return classes_.at(static_cast<std::size_t>(reason));
    }

    Placer& placer_;
    Explainer explainer_;
    const Snapshot& snapshot_;
    const ExtenderArgs& args_;
    std::array<Class, kUnschedulableReasons.size()> classes_;
    std::vector<Refused> refused_;
};

// kube-scheduler takes an answer without nodes and without reasons as final: it keeps the pod for
// minutes, and its user sees no message. So an answer without nodes needs a reason for each named
// node. If the deciding code gave none, this function adds one and logs it, because that is a bug
// of ours.
void give_missing_reasons(const ExtenderArgs& args, FilterAnswer& answer);

}  // namespace tessera
