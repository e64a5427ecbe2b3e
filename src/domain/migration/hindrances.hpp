// What hinders a migration, before it begins.
#pragma once

#include <string>
#include <vector>

#include "domain/migration/next_step.hpp"

namespace tessera::migration {

struct Hindrance {
    bool blocks = true;  // else it is a warning
    std::string text;
    std::string fix;

    friend bool operator==(const Hindrance&, const Hindrance&) = default;
};

// Of the whole cluster.
std::vector<Hindrance> hindrances(const Facts& facts, Direction direction);
// Of one node.
std::vector<Hindrance> hindrances(const Node& node, Direction direction);

}  // namespace tessera::migration
