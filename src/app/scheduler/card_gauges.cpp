#include "app/scheduler/card_gauges.hpp"

#include <fmt/format.h>

#include <array>
#include <iterator>
#include <string_view>
#include <vector>

namespace tessera {
namespace {

// A card as it is now, with its labels as text.
struct CardNow {
    std::string labels;
    Card card;
    Bytes reserved;  // of card.held: for Bindings that no watch has shown
    bool unhealthy = false;
};

// What the rows of metrics.def show, by their names there.
double card_capacity(const CardNow& now) {
    return static_cast<double>(now.card.capacity.count);
}
double card_allocated(const CardNow& now) {
    return static_cast<double>((now.card.held - now.reserved).count);
}
double card_reserved(const CardNow& now) {
    return static_cast<double>(now.reserved.count);
}
double card_compute(const CardNow& now) {
    return now.card.cores_held.value / 100.0;
}
double card_pods(const CardNow& now) {
    return now.card.holders;
}
double card_healthy(const CardNow& now) {
    return now.unhealthy ? 0 : 1;
}

struct CardGauge {
    std::string_view name;
    std::string_view help;
    double (*value)(const CardNow&);
};

constexpr auto kGauges = std::to_array<CardGauge>({
#define METRIC(kind, name, exposed, help) METRIC_##kind(name, exposed, help)
#define METRIC_card_gauge(name, exposed, help) {exposed, help, name},
#define METRIC_gauge(name, exposed, help)
#define METRIC_counter(name, exposed, help)
#define METRIC_histogram(name, exposed, help)
#include "app/scheduler/metrics.def"
#undef METRIC_card_gauge
#undef METRIC_gauge
#undef METRIC_counter
#undef METRIC_histogram
#undef METRIC
});

// What may not stand in a label's value as it is.
std::string escaped(std::string_view value) {
    std::string out;
    for (const char c : value) {
        if (c == '\n') {
            out += "\\n";
            continue;
        }
        if (c == '\\' || c == '"') out += '\\';
        out += c;
    }
    return out;
}

void add_cards(const NodeView& node, std::vector<CardNow>& out) {
    const std::vector<Gpu>& gpus = node.inventory.gpus;
    std::vector<Card> reserved(node.cards.size());
    for (std::size_t i = 0; i < reserved.size(); ++i)
        reserved[i].capacity = node.cards[i].capacity;
    for (const TenantPtr& tenant : node.tenants) {
        if (tenant->stage != Stage::seen) count_holds(*tenant, gpus, reserved, +1);
    }
    const std::string name = escaped(node.inventory.name.str());
    for (std::size_t i = 0; i < node.cards.size(); ++i) {
        out.push_back({fmt::format(R"({{gpu="{}",node="{}",uuid="{}"}})", gpus[i].index, name,
                                   escaped(gpus[i].uuid.str())),
                       node.cards[i], reserved[i].held,
                       gpus[i].condition == GpuCondition::unhealthy});
    }
}

}  // namespace

void append_card_gauges(std::string& text, const ClusterView& view) {
    std::vector<CardNow> cards;
    for (const auto& node : view.nodes())
        add_cards(*node, cards);
    if (cards.empty()) return;
    constexpr std::size_t kNameAndValue = 64;
    text.reserve(text.size() +
                 kGauges.size() * cards.size() * (kNameAndValue + cards.front().labels.size()));
    auto out = std::back_inserter(text);
    for (const CardGauge& gauge : kGauges) {
        fmt::format_to(out, "# HELP {0} {1}\n# TYPE {0} gauge\n", gauge.name, gauge.help);
        for (const CardNow& card : cards)
            fmt::format_to(out, "{}{} {}\n", gauge.name, card.labels, gauge.value(card));
    }
}

}  // namespace tessera
