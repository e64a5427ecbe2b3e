// What the tables of metrics are made into: families of prometheus-cpp.
#pragma once

#include <prometheus/counter.h>
#include <prometheus/gauge.h>
#include <prometheus/histogram.h>
#include <prometheus/registry.h>

#include <initializer_list>
#include <string>

#include "ports/process_facts.hpp"

namespace tessera {

namespace prom = prometheus;

inline prom::Family<prom::Counter>& counter(prom::Registry& registry, const char* name,
                                            const char* help) {
    return prom::BuildCounter().Name(name).Help(help).Register(registry);
}
inline prom::Family<prom::Gauge>& gauge(prom::Registry& registry, const char* name,
                                        const char* help) {
    return prom::BuildGauge().Name(name).Help(help).Register(registry);
}
inline prom::Family<prom::Histogram>& histogram(prom::Registry& registry, const char* name,
                                                const char* help) {
    return prom::BuildHistogram().Name(name).Help(help).Register(registry);
}

// The metrics of process.def, as they are now. `registry` lives for one exposition.
void add_process(prom::Registry& registry, const ProcessFacts& facts);

// The text of what the registries hold.
std::string exposition(std::initializer_list<const prom::Registry*> registries);

}  // namespace tessera
