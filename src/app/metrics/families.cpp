#include "app/metrics/families.hpp"

#include <prometheus/text_serializer.h>

#include <iterator>
#include <vector>

#include "base/log.hpp"

namespace tessera {

void add_process(prom::Registry& registry, const ProcessFacts& facts) {
#define METRIC(kind, name, exposed, help) auto& name = kind(registry, exposed, help);
#include "app/metrics/process.def"
#undef METRIC
    build.Add({{"program", facts.program}, {"version", TESSERA_VERSION}}).Set(1);
    for (std::size_t i = 0; i < kEventCount; ++i) {
        const auto event = static_cast<Event>(i);
        events
            .Add({{"event", std::string(event_name(event))},
                  {"level", std::string(level_name(event_level(event)))}})
            .Increment(static_cast<double>(event_count(event)));
    }
    resident.Add({}).Set(static_cast<double>(facts.resident.count));
    cpu.Add({}).Increment(std::chrono::duration<double>(facts.cpu).count());
    started.Add({}).Set(static_cast<double>(facts.started_s));
    files.Add({}).Set(facts.open_files);
    if (facts.certificate_ends_s) {
        certificate_end.Add({}).Set(static_cast<double>(*facts.certificate_ends_s));
    }
}

std::string exposition(std::initializer_list<const prom::Registry*> registries) {
    std::vector<prom::MetricFamily> families;
    for (const prom::Registry* registry : registries) {
        auto more = registry->Collect();
        families.insert(families.end(), std::make_move_iterator(more.begin()),
                        std::make_move_iterator(more.end()));
    }
    return prom::TextSerializer().Serialize(families);
}

}  // namespace tessera
